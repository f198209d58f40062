// Package filejob runs a configuration from a source that ends into a release that appears as a
// whole: it decides when this is committed or withheld, and what is written in which order. It
// also shows the first rows of such a release, and compares a report with the release that it
// describes.
package filejob

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // what a configuration can name
