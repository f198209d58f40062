// Package survey makes the records that are the tests' input, and checks the release:
// every record is a function of a seed and its place, so that the expected release is
// known without storing the input.
package survey

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// Records is an endless survey in partitions.
type Records struct {
	Seed       uint64
	Partitions int32
}

// Record is one respondent's answers, 8 fields of about 150 bytes as JSON.
type Record struct {
	ID         string // partition and offset; it is released, so that readers can count records
	Name       string // the identifier, never released
	Wage       float64
	Hours      float64
	Education  int
	Experience int
	Region     string
	Ethnicity  string
}

var (
	regions     = []string{"northeast", "midwest", "south", "west"}
	ethnicities = []string{"cauc", "afam", "other"}
)

// At returns the record of a place. It depends only on the seed and the place.
func (r Records) At(partition int32, offset int64) Record {
	g := rand.New(rand.NewPCG(r.Seed, uint64(partition)<<48|uint64(offset)))
	id := ID(partition, offset)
	return Record{
		ID: id, Name: "Respondent-" + id,
		// Weekly wages of the Current Population Survey are approximately lognormal.
		Wage:       math.Round(100*math.Exp(6.2+0.6*g.NormFloat64())) / 100,
		Hours:      math.Round(10*(20+25*g.Float64())) / 10,
		Education:  8 + g.IntN(11),
		Experience: g.IntN(45),
		Region:     regions[g.IntN(len(regions))],
		Ethnicity:  ethnicities[g.IntN(len(ethnicities))],
	}
}

// Home returns the partition of the i-th record of the whole survey.
func (r Records) Home(i int64) int32 {
	g := rand.NewPCG(r.Seed^0x9e3779b97f4a7c15, uint64(i))
	return int32(g.Uint64() % uint64(r.Partitions))
}

// ID returns the id of a place.
func ID(partition int32, offset int64) string { return fmt.Sprintf("%d-%08d", partition, offset) }

// Place returns the place of an id.
func Place(id string) (partition int32, offset int64, err error) {
	if n, err := fmt.Sscanf(id, "%d-%08d", &partition, &offset); err != nil || n != 2 || ID(partition, offset) != id {
		return 0, 0, fmt.Errorf("survey: %q is not the id of a record", id)
	}
	return partition, offset, nil
}

// AppendJSON appends the record in the form that it has in the topic.
func (r Record) AppendJSON(b []byte) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, r.ID...)
	b = append(b, `","name":"`...)
	b = append(b, r.Name...)
	b = append(b, `","wage":`...)
	b = strconv.AppendFloat(b, r.Wage, 'f', 2, 64)
	b = append(b, `,"hours":`...)
	b = strconv.AppendFloat(b, r.Hours, 'f', 1, 64)
	b = append(b, `,"education":`...)
	b = strconv.AppendInt(b, int64(r.Education), 10)
	b = append(b, `,"experience":`...)
	b = strconv.AppendInt(b, int64(r.Experience), 10)
	b = append(b, `,"region":"`...)
	b = append(b, r.Region...)
	b = append(b, `","ethnicity":"`...)
	b = append(b, r.Ethnicity...)
	return append(b, `"}`...)
}
