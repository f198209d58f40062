// Package synthesis has the mask that replaces values by draws from models of the columns: synthesise. It knows no
// other family.
package synthesis

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Synthesise]("synthesise", "replace all values by draws from models of the columns, each conditional on others"),
	}
}
