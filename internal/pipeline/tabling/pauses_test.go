package tabling

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// What fails in these tests fails each time that it is tried.
func init() { publish.Pauses = []time.Duration{1, 1, 1} }
