package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Schema is the value of an entry's "schema" member.
const Schema = "sdlfilter.ledger/1"

// mostLine bounds a line: the configuration of a release, and at most Sketched digests.
const mostLine = 16 << 20

// Entry is a line of a ledger. Exactly one of Release, Tables and Outcome is given.
type Entry struct {
	Schema   string    `json:"schema"`
	Number   int64     `json:"number"`   // from 1
	Previous string    `json:"previous"` // SHA256 of the line before; of the first line 64 zeros
	Time     time.Time `json:"time"`
	Release  *Release  `json:"release,omitempty"`
	Tables   *Tables   `json:"tables,omitempty"`
	Outcome  *Outcome  `json:"outcome,omitempty"`
	SHA256   string    `json:"sha256,omitempty"` // of the line up to this member
}

// Release is what is known of a release without its records.
type Release struct {
	Name         string          `json:"name"`
	Plan         string          `json:"plan,omitempty"` // of a release in shards: the manifest's ID
	Version      string          `json:"version"`        // of the program
	KeyID        string          `json:"key_id"`
	Draws        string          `json:"draws"` // version of the draws, keystream.Version
	ConfigSHA256 string          `json:"config_sha256"`
	Releasing    json.RawMessage `json:"configuration"`   // config.Pipeline.Releasing
	Rules        json.RawMessage `json:"rules,omitempty"` // config.Pipeline.Judging
	Files        []File          `json:"files,omitempty"` // of tables of masks
	// files of the release; none of a release into topics or a database
	Published []Published `json:"published,omitempty"`
	Paths     []string    `json:"paths"`          // as the sink names them
	Records   int64       `json:"records"`        // that are released
	Read      int64       `json:"read,omitempty"` // from the source; 0: not known
	// ByPlace counts the records that draw by their place although identity is configured.
	ByPlace  int64           `json:"identified_by_place,omitempty"`
	Columns  []Column        `json:"columns"`
	Privacy  *assess.Privacy `json:"privacy,omitempty"` // of this release alone
	Warnings []string        `json:"warnings,omitempty"`
	Sketch   *Sketch         `json:"sketch,omitempty"` // of the identities
	// Shuffled says that the records left in an order drawn at random.
	Shuffled bool     `json:"shuffled,omitempty"`
	Project  *Project `json:"project,omitempty"` // with which tables it was published; nil: by itself
}

// Project is the project that published a release of one table together with those of others, each of which has the
// entry in the ledger of its table.
type Project struct {
	Name   string   `json:"name"`
	ID     string   `json:"id"`     // of the releases that were published together, in hex
	Table  string   `json:"table"`  // this one
	Tables []string `json:"tables"` // all of them
}

// Tables is what is known of tables of the records that were published together.
type Tables struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"` // of the program
	Pipeline     string          `json:"pipeline"`
	KeyID        string          `json:"key_id"`
	ConfigSHA256 string          `json:"config_sha256"`
	Releasing    json.RawMessage `json:"configuration"`     // config.Pipeline.Releasing of the pipeline
	Files        []File          `json:"files,omitempty"`   // of tables of masks
	Records      int64           `json:"records,omitempty"` // that could be read; 0: not known
	Holding      string          `json:"holding,omitempty"` // the column of the contributors; "": records
	Tables       []Table         `json:"tables"`
	Published    []Published     `json:"published,omitempty"`
	Paths        []string        `json:"paths"`
}

// Table is one of them.
type Table struct {
	Name    string   `json:"name"`
	Rows    []string `json:"rows"`              // its variables
	Columns []string `json:"columns,omitempty"` // of the records, from which it is made; none: not known
	Value   string   `json:"value,omitempty"`   // the column that is summed; "": records are counted
	Protect string   `json:"protect"`
	Cells   int64    `json:"cells"`
	Weight  string   `json:"weight,omitempty"` // the column of weights
	// Percent is how closely nobody is to know a largest contribution, in percent of it, by the table's rules.
	Percent float64 `json:"percent,omitempty"`
	// Variables say how its cells add up, by row; none: not known. Hidden are the places of the cells that are held back,
	// row-major over the nodes of the variables, the last one fastest.
	Variables []Variable `json:"variables,omitempty"`
	Hidden    []int64    `json:"hidden,omitempty"`
}

// Variable is one of a table's: the column with its codes in the records, the codes of its leaves, and its nodes, the
// total first, each with the leaves below it.
type Variable struct {
	Column string    `json:"column"`
	Leaves []string  `json:"leaves"`
	Nodes  [][]int32 `json:"nodes"`
}

// File is a file that a mask has read.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Published is a file, or a folder of files, of a release.
type Published struct {
	Path   string `json:"path"` // absolute, or that of an object
	Folder bool   `json:"folder,omitempty"`
	SHA256 string `json:"sha256"`
}

// Column is a released column. Amounts are those to which percentages of the masks refer; Decimals −1: none.
type Column struct {
	Name     string          `json:"name"`
	Role     string          `json:"role"`
	Unit     string          `json:"unit,omitempty"`
	Type     string          `json:"type"`
	Masked   bool            `json:"masked"`
	Decimals int             `json:"decimals"`
	Mean     assess.Float    `json:"mean"`
	SD       assess.Float    `json:"sd"`
	Released *assess.Moments `json:"released,omitempty"`
	Shape    *assess.Shape   `json:"shape,omitempty"` // of what was released, in the sample
	// Ordered says whether the order in which the records left tells of the column; nil: not known.
	Ordered *bool `json:"ordered,omitempty"`
}

// Outcome is what became of the release with the number Of.
type Outcome struct {
	Of        int64 `json:"of"`
	Published bool  `json:"published"`
}

// one reports whether the entry is exactly one of what it can be.
func (e *Entry) one() bool {
	n := 0
	for _, given := range []bool{e.Release != nil, e.Tables != nil, e.Outcome != nil} {
		if given {
			n++
		}
	}
	return n == 1
}

// first is what stands before the first line.
var first = hex.EncodeToString(make([]byte, sha256.Size))

// sealed returns an entry as a line, without its end, closed by the digest of what is before it.
func sealed(e Entry) (line []byte, err error) {
	e.SHA256 = ""
	if line, err = json.Marshal(e); err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("}"))
	sum := sha256.Sum256(line)
	return append(line, seal+hex.EncodeToString(sum[:])+"\"}"...), nil
}

const seal = `,"sha256":"`

// unbroken reports whether a line ends with the digest of what is before it.
func unbroken(line []byte) bool {
	at := bytes.LastIndex(line, []byte(seal))
	if at < 0 {
		return false
	}
	sum := sha256.Sum256(line[:at])
	return string(line[at:]) == seal+hex.EncodeToString(sum[:])+`"}`
}

// BrokenError is a ledger that was changed otherwise than by adding lines.
type BrokenError struct {
	Path   string
	Line   int64
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: line %d %s: the ledger was changed by other means than a run; nothing is released by it",
		e.Path, e.Line, e.Reason)
}

// content is what a ledger's file holds.
type content struct {
	entries []Entry
	head    string // the digest of the last line
	size    int64  // of the whole lines
	torn    bool   // whether a line follows that was cut off
}

// parse reads the text of a ledger. The error is a *BrokenError.
func parse(path string, text []byte) (*content, error) {
	c := &content{head: first}
	open := map[int64]bool{}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			c.torn = true
			return c, nil
		}
		if len(rest) == 0 && bytes.IndexByte(line, 0) >= 0 { // a part of it has not come to the disk
			c.torn = true
			return c, nil
		}
		e, err := entryOf(line, int64(len(c.entries))+1, c.head, open)
		if err != nil {
			return nil, &BrokenError{path, int64(len(c.entries)) + 1, err.Error()}
		}
		c.entries, c.head, c.size = append(c.entries, e), e.SHA256, c.size+int64(len(line))+1
		text = rest
	}
	return c, nil
}

// entryOf reads the line with a number after the line of a digest. open has the releases without outcome. Its errors
// hold nothing of the line.
func entryOf(line []byte, number int64, previous string, open map[int64]bool) (e Entry, err error) {
	if len(line) > mostLine {
		return e, errors.New("is too long")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(&e) != nil {
		return e, errors.New("is no entry of a ledger")
	}
	if _, err := d.Token(); err != io.EOF {
		return e, errors.New("has more than one entry")
	}
	switch {
	case !unbroken(line):
		return e, errors.New("is not what its digest is of")
	case e.Schema != Schema:
		return e, fmt.Errorf("is of another format than %s", Schema)
	case e.Number != number:
		return e, fmt.Errorf("has number %d", e.Number)
	case e.Previous != previous:
		return e, errors.New("does not follow the line before it")
	case !e.one():
		return e, errors.New("is not one release or outcome")
	case e.Outcome != nil && !open[e.Outcome.Of]:
		return e, fmt.Errorf("is the outcome of %d, which is no release that has none", e.Outcome.Of)
	case e.Outcome == nil:
		open[number] = true
	default:
		delete(open, e.Outcome.Of)
	}
	return e, nil
}

// Listed is a release of a ledger, of records or of tables, with what became of it.
type Listed struct {
	Number  int64
	Time    time.Time
	SHA256  string // of its line
	Release *Release
	Tables  *Tables
	// Known says that an outcome was entered, and Published whether the release counts as published.
	Known, Published bool
}

// Name is that of the pipeline, or of the configuration of the tables.
func (l *Listed) Name() string {
	if l.Tables != nil {
		return l.Tables.Name
	}
	return l.Release.Name
}

// Contents are the published files.
func (l *Listed) Contents() []Published {
	if l.Tables != nil {
		return l.Tables.Published
	}
	return l.Release.Published
}

// releases lists the releases of entries.
func (c *content) releases() (list []Listed) {
	for _, e := range c.entries {
		if e.Outcome != nil {
			of := e.Outcome
			for k := range list {
				if list[k].Number == of.Of {
					list[k].Known, list[k].Published = true, of.Published
				}
			}
			continue
		}
		list = append(list,
			Listed{Number: e.Number, Time: e.Time, SHA256: e.SHA256, Release: e.Release, Tables: e.Tables, Published: true})
	}
	return list
}
