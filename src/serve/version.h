/* serve/version.h - set by the build (meson.build). */
#pragma once

#ifndef SOUK_VERSION
#define SOUK_VERSION "0.0.0"
#endif
