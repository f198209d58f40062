// Package stream runs a configuration on topics: one transaction after another, each read,
// masked, judged and committed as a whole. The assessment of a partition is stored, and passes
// from one instance to the next.
package stream

import _ "github.com/sdlfilter/sdlfilter/internal/formats" // what a configuration can name
