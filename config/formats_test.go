package config

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // the formats that a configuration can name
