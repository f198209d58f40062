package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// readTable reads the places of the population: two coordinates and optionally how many people live there, behind a
// line of names, with commas or semicolons between them. The error joins one for each line that is wrong, up to 20 of
// them.
func (m *Donut) readTable(content []byte) error {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	r := csv.NewReader(bytes.NewReader(content))
	r.ReuseRecord = true
	if line, _, _ := bytes.Cut(content, []byte("\n")); bytes.ContainsRune(line, ';') {
		r.Comma = ';'
	}
	var points []places.Point
	var people []float64
	var faults []error
	for first := true; len(faults) < core.MostFaults; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
			return fmt.Errorf("line %d is not valid CSV, or has another number of fields than the first", wrong.Line)
		} else if err != nil {
			return errors.New("cannot be read")
		}
		line, _ := r.FieldPos(0)
		if first {
			if len(record) != 2 && len(record) != 3 {
				return fmt.Errorf("must have two or three columns: the coordinates, and the number of people, got %d", len(record))
			}
			if _, err := strconv.ParseFloat(strings.TrimSpace(record[0]), 64); err == nil {
				return errors.New("must have a first line with the names of its columns, and its first field is a number")
			}
			continue
		}
		values := [3]float64{2: 1}
		for k, field := range record {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || v-v != 0 {
				faults = append(faults, fmt.Errorf("line %d: field %d must be a number", line, k+1))
				values[2] = 0
				break
			}
			values[k] = v
		}
		at := places.Point{A: values[0], B: values[1]}
		switch {
		case values[2] < 0:
			faults = append(faults, fmt.Errorf("line %d: the number of people must be at least 0", line))
		case !m.unit().Valid(at):
			faults = append(faults,
				fmt.Errorf("line %d: is no place: a latitude from −90 to 90 and a longitude from −180 to 360, or metres up to 10⁹",
					line))
		default:
			points, people = append(points, at), append(people, values[2])
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	m.people, m.digest = places.NewPeople(m.unit(), points, people), fmt.Sprintf("%x", sha256.Sum256(content))
	if m.people.Total() == 0 {
		return errors.New("must have at least one place with people")
	}
	return nil
}

func (m *Donut) parameters() []core.Parameter {
	var list []core.Parameter
	for _, word := range []core.Parameter{{Name: "unit", Value: m.Unit}, {Name: "file", Value: m.File}, {Name: "weight",
		Value: m.Weight}} {
		if word.Value != "" {
			list = append(list, word)
		}
	}
	list = core.WithNumber(core.WithNumber(list, "least", m.Least), "most", m.Most)
	for _, k := range []struct {
		name string
		v    *int
	}{{"k_least", m.KLeast}, {"k_most", m.KMost}} {
		if k.v != nil {
			list = append(list, core.Parameter{Name: k.name, Value: float64(*k.v)})
		}
	}
	if m.Records != nil {
		list = append(list, core.Parameter{Name: "records", Value: *m.Records})
	}
	return list
}

// Displacing moves the point of two columns by at least Least metres and at most Most, of which each column has
// PerMetre units along a meridian; 0 where one of these is not known. See Noise for what it is to one column.
type Displacing struct{ Least, Most, PerMetre float64 }

func (Displacing) IsAction() {}

// Noise is the noise of one column: of a ring from a to b it has the variance (a² + b²)/4, and where b is not known
// more than a²/2. Of a longitude away from the equator it is greater.
func (d Displacing) Noise() core.Addition {
	square := d.Least * d.Least / 2
	if d.Most != 0 {
		square = (d.Least*d.Least + d.Most*d.Most) / 4
	}
	return core.Addition{SD: math.Sqrt(square) * d.PerMetre, Distribution: "normal"}
}

func (m *Donut) action(string, float64) core.Action {
	if m.Least == nil {
		return nil
	}
	d := Displacing{Least: *m.Least, PerMetre: m.perMetre()}
	if m.Most != nil && m.KLeast == nil {
		d.Most = *m.Most
	}
	return d
}

// PublishedAction implements Publishing.
func (m *Donut) PublishedAction(p core.Published, _ string) core.Action {
	d := Displacing{Least: p.NumberOr("least", 0), Most: p.NumberOr("most", 0)}
	if p.Word("unit") != "" {
		d.PerMetre = (&Donut{Unit: p.Word("unit")}).perMetre()
	}
	if p.Has("k_least") {
		d.Most = 0
	}
	return d
}

// Words implements Publishing.
func (m *Donut) Words(p core.Published, _ string) string {
	s := "displacement: points were moved in a random direction, all records of one place alike"
	least, low := p.Float("least")
	most, high := p.Float("most")
	switch {
	case low && high:
		s += ", by " + p.Number(least) + " to " + p.Number(most) + " metres"
	case low:
		s += ", by at least " + p.Number(least) + " metres"
	case high:
		s += ", by at most " + p.Number(most) + " metres"
	}
	kLeast, low := p.Float("k_least")
	kMost, high := p.Float("k_most")
	if low && high {
		s += "; between " + p.Number(kLeast) + " and " + p.Number(kMost) + " people live within that distance"
	}
	return s
}

// EfficiencyFollows implements Publishing: the loss of variance tells the radii.
func (m *Donut) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("k_least") && named("least") && named("most") && named("unit")
}
