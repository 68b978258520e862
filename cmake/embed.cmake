# Embeds text files in a C++ source file, as constants that HEADER declares in namespace motley.
#
#   cmake -DOUT=parts.cc -DHEADER=page/parts.h -DNAMES=kStyle;kScript
#         -DkStyle=page.css "-DkScript=a.js;b.js" -P embed.cmake
#
# If a name has several files, they are concatenated.

set(source "#include \"${HEADER}\"\n\nnamespace motley {\n")
foreach(name IN LISTS NAMES)
  set(all "")
  foreach(file IN LISTS ${name})
    file(READ "${file}" text)
    string(APPEND all "${text}")
  endforeach()
  # The text must not contain the delimiter that ends the raw string.
  string(FIND "${all}" ")embedded" mark)
  if(NOT mark EQUAL -1)
    message(FATAL_ERROR "${name}: cannot be embedded, it contains \")embedded\"")
  endif()
  string(APPEND source "\nconst std::string_view ${name} = R\"embedded(${all})embedded\";\n")
endforeach()
file(WRITE "${OUT}" "${source}\n}  // namespace motley\n")
