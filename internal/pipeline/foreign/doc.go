// Package foreign measures and attacks releases that any tool made, from the original
// and the released records.
package foreign

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // what a configuration can name
