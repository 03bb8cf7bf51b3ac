// Three parts of one application, each in a library of its own and compiled with flags of its own (CMakeLists.txt).
#pragma once

#include <svmgsu/svmgsu.hpp>

struct Part {
  const char* name;
  svmgsu::Result (*train)();
  svmgsu::Model (*model)(const svmgsu::Result& result);
  // Takes the memory over, changes its size, hands some of it on; all in this part's code.
  svmgsu::Vector (*use)(svmgsu::Result result, svmgsu::Model model);
};
