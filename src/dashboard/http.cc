// The only file that includes cpp-httplib. It gets complete heads of bounded size and writes to a
// Connection; its sockets, threads and routing patterns are not used.
#include "dashboard/http.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <string_view>
#include <utility>

#include "dashboard/listener.h"

namespace motley {
namespace {

using Clock = Connection::Clock;

// A page that lost its stream retries after this many milliseconds.
constexpr std::string_view kRetry = "retry: 1000\n\n";
constexpr std::string_view kSignOfLife = ":\n\n";

const std::pair<const char*, const char*> kHeaders[] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy", "frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

struct Refusal {
  int status;
  const char* reason;
  const char* more = "";  // headers
};
constexpr Refusal kBadRequest{400, "Bad Request"};
constexpr Refusal kNotFound{404, "Not Found"};
constexpr Refusal kNotAllowed{405, "Method Not Allowed", "Allow: GET\r\n"};
constexpr Refusal kTooLate{408, "Request Timeout"};
constexpr Refusal kMisdirected{421, "Misdirected Request"};
constexpr Refusal kHeadTooLong{431, "Request Header Fields Too Large"};
constexpr Refusal kBusy{503, "Service Unavailable"};

// Answers that do not go through cpp-httplib.
std::string text_of(const Refusal& refusal) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\n{}", refusal.status, refusal.reason, refusal.more);
  for (const auto& [name, value] : kHeaders) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  const std::string body = fmt::format("{} {}\n", refusal.status, refusal.reason);
  return text + fmt::format(
                    "Connection: close\r\nContent-Type: text/plain\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    body.size(), body);
}

void refuse(httplib::Response& response, const Refusal& refusal) {
  response.status = refusal.status;
  response.set_content(fmt::format("{} {}\n", refusal.status, refusal.reason), "text/plain");
}

// Presents a head to cpp-httplib as a connection that delivers nothing else.
class HeadOnly final : public httplib::Stream {
 public:
  HeadOnly(std::string_view head, Connection& connection) : rest_(head), connection_(connection) {}

  bool is_readable() const override { return !rest_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t taken = rest_.copy(to, size);
    rest_.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* from, std::size_t size) override {
    return connection_.write({from, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view rest_;
  Connection& connection_;
};

// One client of /events, from its first event to its last.
class EventStream {
 public:
  EventStream(const Board& board, const DashboardLimits& limits) : board_(board), limits_(limits) {}

  // Waits for news and sends it. False if the client is gone.
  bool go_on(httplib::DataSink& sink) {
    const auto latest = std::max(earliest_, Clock::now() + limits_.keep_alive);
    const Board::News news =
        begun_ ? board_.wait(seen_, earliest_, latest) : Board::News{board_.now()};
    const auto from = Clock::now();
    const bool is_new = news.sight.number > seen_;
    const auto put = [&](std::string_view text) { return sink.write(text.data(), text.size()); };
    bool taken = begun_ || put(kRetry);
    if (taken && is_new) {
      taken = put("data: ") && put(*news.sight.record) && put("\n\n");
    } else if (taken && begun_ && !news.closed) {
      taken = put(kSignOfLife);
    }
    begun_ = true;
    if (is_new) {
      seen_ = news.sight.number;
      // A slow client gets fewer events: at least half of its time is a pause.
      const auto now = Clock::now();
      earliest_ = now + std::max<Clock::duration>(limits_.pace, now - from);
    }
    if (news.closed) {
      sink.done();
    }
    return taken;
  }

 private:
  const Board& board_;
  const DashboardLimits& limits_;
  std::uint64_t seen_ = 0;
  bool begun_ = false;
  Clock::time_point earliest_{};
};

}  // namespace

class Http::Server final : public httplib::Server {
 public:
  Server(std::string page, const Board& board, const DashboardLimits& limits, bool loopback_only)
      : page_(std::move(page)), board_(board), limits_(limits), loopback_only_(loopback_only) {
    set_default_headers(httplib::Headers(std::begin(kHeaders), std::end(kHeaders)));
    // All routing happens here: cpp-httplib would match patterns and accept HEAD for GET.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    // cpp-httplib treats a server without a socket as shutting down and cuts streams off.
    svr_sock_ = 0;
    rehearse();
  }

  void serve(Connection& connection) {
    std::string head;
    const auto outcome =
        connection.read_head(head, limits_.head, Clock::now() + limits_.request_time);
    const bool is_get = outcome == Connection::Head::kWhole && head.starts_with("GET ");
    if (is_get) {
      answer_to(head, connection);
    } else if (outcome == Connection::Head::kWhole) {
      connection.write(text_of(kNotAllowed));
    } else if (outcome == Connection::Head::kTooLong) {
      connection.write(text_of(kHeadTooLong));
    } else if (outcome == Connection::Head::kTooLate && !head.empty()) {
      connection.write(text_of(kTooLate));
    }
    if (!is_get || connection.more_came()) {
      connection.finish(Clock::now() + limits_.request_time);
    }
  }

 private:
  // Triggers cpp-httplib's lazy initialisation before there are threads. Its own guards are
  // sufficient, but ThreadSanitizer does not see into the library.
  void rehearse() {
    constexpr std::string_view kRequest =
        "GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1\r\nAccept: */*\r\n\r\n";
    httplib::detail::BufferStream stream;
    stream.write(kRequest.data(), kRequest.size());
    process(stream);
  }

  void answer_to(const std::string& head, Connection& connection) {
    HeadOnly stream(head, connection);
    process(stream);
  }

  void process(httplib::Stream& stream) {
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, [](httplib::Request& request) {
      // Compressing costs the run more than sending. Ranges are not supported.
      request.headers.erase("Accept-Encoding");
      request.headers.erase("Expect");
      request.ranges.clear();
    });
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    if (request.get_header_value_count("Host") != 1) {
      refuse(response, kBadRequest);
    } else if (loopback_only_ && !names_loopback(request.get_header_value("Host"))) {
      refuse(response, kMisdirected);
    } else if (request.path == "/") {
      response.set_content(page_, "text/html; charset=utf-8");
    } else if (request.path == "/events") {
      stream(response);
    } else if (request.path == "/record.json") {
      const Board::Sight sight = board_.now();
      sight.number == 0 ? refuse(response, kBusy)
                        : response.set_content(*sight.record, "application/json");
    } else if (request.path == "/metrics") {
      response.set_content(*board_.now().metrics, "text/plain; version=0.0.4; charset=utf-8");
    } else {
      refuse(response, kNotFound);
    }
  }

  void stream(httplib::Response& response) {
    if (streams_.fetch_add(1) >= limits_.streams) {
      streams_.fetch_sub(1);
      refuse(response, kBusy);
      return;
    }
    auto events = std::make_shared<EventStream>(board_, limits_);
    response.set_content_provider(
        "text/event-stream",
        [events](std::size_t, httplib::DataSink& sink) { return events->go_on(sink); },
        [this](bool) { streams_.fetch_sub(1); });
  }

  const std::string page_;
  const Board& board_;
  const DashboardLimits limits_;
  const bool loopback_only_;
  std::atomic<int> streams_ = 0;
};

Http::Http(std::string page, const Board& board, const DashboardLimits& limits,
           bool loopback_only) {
  // cpp-httplib disables SIGPIPE for the whole process and its children. It does not write to
  // sockets here, so restore it; `motley ... | head` depends on it.
  struct sigaction before {};
  sigaction(SIGPIPE, nullptr, &before);
  server_ = std::make_unique<Server>(std::move(page), board, limits, loopback_only);
  sigaction(SIGPIPE, &before, nullptr);
}

Http::~Http() = default;

void Http::serve(Connection& connection) { server_->serve(connection); }

}  // namespace motley
