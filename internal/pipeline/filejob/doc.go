// Package filejob runs a configuration from a source that ends into a release that
// appears as a whole: when it is committed or withheld, and what is written in which
// order. It also shows the first rows of such a release, and holds a report against the
// release that it is about.
package filejob

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // what a configuration can name
