package config

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // what a configuration can name
