#include "page/page.h"

#include <gtest/gtest.h>
TEST(Page, X) {}
