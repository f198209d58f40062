package tabulation

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const adjustedText = "version: 1\nsource: {csv: {path: in.csv}}\nsink: {csv: {path: out.csv}}\ntables: [{name: t, rows: [a], TABLE}]\n"

// By how much values can change follows from the rules, and not from the data.
func TestAdjustedWithin(t *testing.T) {
	for table, want := range map[string]Interval{
		"unsafe: [{threshold: 3}], protect: {adjust: {}}": {Absolute: 6},
		// from 1 to 9, and back
		"unsafe: [{threshold: 9}], interval: {absolute: 1}, protect: {adjust: {}}": {Absolute: 9},
		// 2·35/(100−35); 30 % of 40 units and 2
		"value: v, unsafe: [{threshold: 3}], protect: {adjust: {}}": {Absolute: 1.4, Percent: 108},
		"value: v, unsafe: [{threshold: 3}, {p_percent: 15}], interval: {percent: 1}, protect: {adjust: {}}": {
			Absolute: 0.8, Percent: 50},
		"value: v, unsafe: [{pq: [10, 50]}], interval: {absolute: 4}, protect: {adjust: {}}": {
			Absolute: 8, Percent: 67},
		"value: v, unsafe: [{dominance: [1, 40]}], protect: {adjust: {}}": {
			Absolute: 6.2, Percent: 300},
		"value: v, unsafe: [{threshold: 3}], protect: {adjust: {within: {percent: 7}}}": {Percent: 7},
	} {
		c,
			err := Parse("t.yaml", []byte(strings.Replace(adjustedText, "TABLE", table, 1)),
			config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Errorf("%s: %v", table, err)
			continue
		}
		if got := c.Tables[0].AdjustedWithin(1); got != want {
			t.Errorf("%s: within %+v, want %+v", table, got, want)
		}
	}
}

// What adjust cannot be is refused with its place.
func TestAdjustIsChecked(t *testing.T) {
	for table, want := range map[string]string{
		"unsafe: [{threshold: 3}], protect: {adjust: {within: {}}}":                       "protect.adjust.within: must be above 0",
		"unsafe: [{threshold: 3}], protect: {adjust: {within: {percent: 95}}}":            "protect.adjust.within.percent: must be between 0 and 90",
		"value: v, unsafe: [{threshold: 3}], protect: {adjust: {within: {percent: 301}}}": "protect.adjust.within.percent: must be between 0 and 300",
		"value: v, unsafe: [{threshold: 3}], protect: {adjust: {within: {absolute: -1}}}": "protect.adjust.within.absolute: must be at least 0",
		"value: v, absolute: true, unsafe: [{threshold: 3}], protect: {adjust: {}}":       "tables[0].absolute: must be left out with adjust",
		"value: v, unsafe: [{threshold: 3}], protect: {adjust: {cost: log}}":              "protect.adjust.cost: must be one of relative, unit",
	} {
		_,
			err := Parse("t.yaml", []byte(strings.Replace(adjustedText, "TABLE", table, 1)),
			config.Options{Environ: func() []string { return nil }})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", table, err, want)
		}
	}
}

// A configuration that a map writes has the method as it was read.
func TestAdjustIsWrittenAsItWasRead(t *testing.T) {
	for _, flow := range []string{"{adjust: {cost: relative}}",
		"{adjust: {cost: unit, within: {absolute: 4, percent: 20}, patience: 3s, respondents: ignore}}"} {
		c,
			err := Parse("t.yaml", []byte(strings.Replace(adjustedText, "TABLE", "unsafe: [{threshold: 3}], protect: "+flow, 1)),
			config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Tables[0].Protect.flow(); got != flow {
			t.Errorf("%s is written as %s", flow, got)
		}
	}
}
