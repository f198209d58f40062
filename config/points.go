package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Point is a pair of columns with a point of each record that is to be verified.
type Point struct {
	Columns []string `yaml:"columns" doc:"latitude and longitude, or x and y"`
	Unit    string   `yaml:"unit" doc:"degrees: latitude and longitude; metres: x and y in a plane" enum:"degrees,metres"`
	File    string   `yaml:"file" doc:"a CSV file with the places of the population, as of the mask donut"`

	verified transform.Place
}

// Verified returns the places as the masks verify them.
func (a *Assess) Verified() (list []transform.Place) {
	for _, p := range a.Places {
		if p.verified.Unit != "" {
			list = append(list, p.verified)
		}
	}
	return list
}

// validatePlaces judges the pairs of columns to verify, and reads their populations.
func (l *loader) validatePlaces(p *Pipeline) {
	for i := range p.Assess.Places {
		of, path := &p.Assess.Places[i], fmt.Sprintf("assess.places[%d]", i)
		if !l.Sound(path) {
			continue
		}
		if len(of.Columns) != 2 {
			l.Wrong(form.Join(path, "columns"), "must be two columns, got %d", len(of.Columns))
			continue
		}
		l.maskColumns(p, path, "columns", of.Columns, "verified")
		for k, name := range of.Columns {
			if !p.masks(name) && p.Columns.Named(name) != nil && l.Sound("masks") {
				l.Wrong(fmt.Sprintf("%s.columns[%d]", path, k), "must be a column that a mask changes, got %q", name)
			}
		}
		if of.Unit != "degrees" && of.Unit != "metres" {
			l.Wrong(form.Join(path, "unit"), "must be one of degrees, metres, got %q", of.Unit)
			continue
		}
		reading := transform.Reading(of.Columns, of.Unit, of.File)
		l.readTable(path, reading)
		of.verified = reading.Describe().Places[0]
	}
}

// placesOf returns the places that are verified: those of the masks, and of assess.places.
func (p *Pipeline) placesOf() (list []transform.Place) {
	for _, m := range p.Masks {
		if m.Params != nil {
			list = append(list, transform.PlacesOf(m.Params)...)
		}
	}
	return append(list, p.Assess.Verified()...)
}

// validatePlaceRule demands that a rule about points has its measure; false if the rule is about something else.
func (l *loader) validatePlaceRule(p *Pipeline, path string, r assess.Rule) bool {
	if r.MinSpatialK == nil && r.MinPlaceRMSE == nil {
		return false
	}
	places := p.placesOf()
	if !l.Known("assess") || !l.Sound("masks", "assess.places", path) {
		return true
	}
	if len(places) == 0 {
		l.Wrong(path, "needs a point that is verified: a mask donut, or assess.places with the columns of the point")
		return true
	}
	for _, of := range places {
		if r.MinSpatialK != nil && !of.Counts() {
			l.Wrong(form.Join(path, "min_spatial_k"),
				"needs the population about the points of %s: give the mask or assess.places a file, or the mask records: true", of)
		}
	}
	return true
}

// validateDisplaced refuses rules that judge a displaced coordinate by itself, in degrees: a degree of longitude is of
// no fixed length, and 359 of them may be a step over the date line.
func (l *loader) validateDisplaced(p *Pipeline, path string, m transform.Params) {
	for _, of := range transform.PlacesOf(m) {
		for i, rule := range p.Gate.Rules {
			if at := fmt.Sprintf("gate.rules[%d]", i); of.Unit == "degrees" && (rule.MinRMSE != nil || rule.MaxRisk != nil) &&
				(rule.Column == of.Columns[0] || rule.Column == of.Columns[1]) && l.Sound(at) {
				l.Wrong(at, "must not judge the degrees of a displaced coordinate: use min_place_rmse, in metres")
			}
		}
	}
	for i, of := range transform.PlacesOf(m) {
		if at := fmt.Sprintf("%s.columns[%d]", path, 2*i); of.Unit == "degrees" && like(of.Columns[0], "lon", "lng") &&
			like(of.Columns[1], "lat") && l.Sound(at) {
			l.Wrong(at, "must be the latitude, and the longitude follows: %s seem to be in the other order", of)
		}
	}
	if of := transform.NeedsPeople(m); of != nil && of.Weight != "" {
		l.listed(p, form.Join(path, "weight"), of.Weight)
	}
}

func like(name string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}
