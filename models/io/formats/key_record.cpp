#include "models/io/formats/key_record.hpp"

namespace fabricast {

namespace {

thread_local KeyRecord* current_record = nullptr;

}  // namespace

KeyRecord::KeyRecord() : outer_(current_record) { current_record = this; }
KeyRecord::~KeyRecord() { current_record = outer_; }
KeyRecord* KeyRecord::current() { return current_record; }

}  // namespace fabricast
