#pragma once
// What the library shows to those who link with it; all else in it is hidden.

#define FABRICAST_API __attribute__((visibility("default")))
