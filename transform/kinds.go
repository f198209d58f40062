package transform

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/exchange"
	"github.com/sdlfilter/sdlfilter/transform/internal/group"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"github.com/sdlfilter/sdlfilter/transform/internal/synthesis"
	"github.com/sdlfilter/sdlfilter/transform/internal/weights"
)

// The families of masks, in the order in which their masks are listed.
func init() {
	core.Register(record.Masks()...)
	core.Register(category.Masks()...)
	core.Register(group.Masks()...)
	core.Register(exchange.Masks()...)
	core.Register(synthesis.Masks()...)
	core.Register(weights.Masks()...)
}
