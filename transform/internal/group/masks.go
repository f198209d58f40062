// Package group has the masks by which a record is one of k that are alike: microaggregate and suppress. It knows no
// other family.
package group

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Suppress]("suppress", "set cells of the keys missing until at least k records share each combination of the keys"),
		core.KindOf[Microaggregate]("microaggregate", "replace values by the mean or median of groups of at least k similar records"),
	}
}
