package check_test

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/check"
)

// All problems of the parameters are collected with their places before they are reported.
func Example() {
	var noise check.Problems
	noise.AtLeast("sd", -3, 0)
	noise.Addf("tiers[0].above", "must be a number")

	var all check.Problems
	all.Within("masks[1].noise", noise)
	for _, p := range all {
		fmt.Println(p)
	}
	// Output:
	// masks[1].noise.sd: must be at least 0, got -3
	// masks[1].noise.tiers[0].above: must be a number
}
