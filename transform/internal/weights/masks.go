// Package weights has the mask that changes sampling weights and no value of a respondent: calibrate. It knows no other
// family.
package weights

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Calibrate]("calibrate", "multiply sampling weights so that weighted totals are those of margins"),
	}
}
