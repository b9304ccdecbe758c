// How much memory is left. Systems grant more than they have, and later end the process that uses it: large arrays ask
// here first.
#pragma once

#include <cstddef>
#include <string>

namespace gm::memory {

// Bytes that this process can still get: of the machine, of its control group and of its own limit, the least. The
// largest number where nothing is known.
std::size_t available();

// Throws std::bad_alloc where an array of so many bytes is more than there is. Small ones are not looked at.
void demand(std::size_t bytes);

// "1.5 GB".
std::string size_text(double bytes);

}  // namespace gm::memory
