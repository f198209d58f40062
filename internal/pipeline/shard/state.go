package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// stateMagic is the beginning of a state file; a change of the format changes it.
const stateMagic = "sdlfilter.shard-state/8\n"

// State is the result of a shard in addition to its files: the outcome of its records, and
// their assessment. It is as confidential as the data.
type State struct {
	Plan  string `json:"plan"` // the manifest's ID
	Shard int    `json:"shard"`
	microdata.Counts
	Reasons      map[string]int64        `json:"reasons"`
	Entries      []quarantined.FileEntry `json:"entries"` // if the configuration asks for them
	Touched      []int64                 `json:"touched"` // records, by mask
	Unidentified int64                   `json:"unidentified"`
	Listed       microdata.Bitmap        `json:"listed,omitempty"`   // see transform.Chain.Unmatched
	Verified     []transform.Verified    `json:"verified,omitempty"` // released points, by pair of columns
	Files        []StateFile             `json:"files"`
	Pairing      string                  `json:"pairing,omitempty"` // the name of the pairing that was used
	Pairs        []byte                  `json:"pairs,omitempty"`   // the digest of the decisions for this shard
	Places       map[int][]byte          `json:"places,omitempty"`  // by stream, if columns hold the places
	Exchange     int                     `json:"exchange_bytes,omitempty"`

	assessment []byte // an assess.Accumulator; nil if nothing is measured, or while it is in the file only
	exchange   []byte // a pipeline.Exchange, after the assessment in the file, of Exchange bytes; nil if no numbers are exchanged, or while it is in the file only
	path       string // of the file that it was read from
}

// StateFile is one file of the release.
type StateFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Stamp tells whether the file is still the one that the shard digested; nil for an object, or
	// if that cannot be known without reading it.
	Stamp *publish.Stamp `json:"stamp,omitempty"`
	// Upload is what the commit needs to give an object its name; nil of a file.
	Upload json.RawMessage `json:"upload,omitempty"`
}

// Write writes the state so that only its owner can read it: the magic word, a line of JSON,
// the assessment, the expected change of exchanged numbers, and the digest of all that.
func (s *State) Write(path string) error {
	s.Exchange = len(s.exchange)
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text := slices.Concat([]byte(stateMagic), head, []byte{'\n'}, s.assessment, s.exchange)
	sum := sha256.Sum256(text)
	return publish.Replace(path, append(text, sum[:]...))
}

// unread is the error of a state that cannot be read. The error of an object already names it.
func unread(path string, err error) error {
	if objects.Is(path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, unpathed(err))
}

// readState reads a state; the error names the file.
func readState(ctx context.Context, path string) (*State, error) {
	text, err := publish.ReadFile(ctx, path)
	if err != nil {
		return nil, unread(path, err)
	}
	return parseState(path, text)
}

func parseState(path string, text []byte) (*State, error) {
	body := len(text) - sha256.Size
	switch {
	case !bytes.HasPrefix(text, []byte(stateMagic)) && bytes.HasPrefix(text, []byte("sdlfilter.shard-state/")):
		return nil, &StateError{path, "was written by another version of the program"}
	case !bytes.HasPrefix(text, []byte(stateMagic)):
		return nil, &StateError{path, "is no state of a shard"}
	case body < len(stateMagic):
		return nil, &StateError{path, "is cut off"}
	}
	if sum := sha256.Sum256(text[:body]); !bytes.Equal(sum[:], text[body:]) {
		return nil, &StateError{path, "is damaged or cut off: run the shard again"}
	}
	head, assessment, _ := bytes.Cut(text[len(stateMagic):body], []byte{'\n'})
	s := &State{assessment: assessment}
	if err := json.Unmarshal(head, s); err != nil {
		return nil, &StateError{path, "is damaged: run the shard again"}
	}
	if s.Exchange < 0 || s.Exchange > len(assessment) {
		return nil, &StateError{path, "is damaged: run the shard again"}
	}
	s.assessment, s.exchange = assessment[:len(assessment)-s.Exchange], assessment[len(assessment)-s.Exchange:]
	return s, nil
}

// measured returns the state's assessment and the expected change of exchanged numbers. A
// commit reads them when it merges them: all of them at once would take gigabytes.
func (s *State) measured(ctx context.Context) (assessment, exchange []byte, err error) {
	if s.assessment != nil || s.path == "" {
		return s.assessment, s.exchange, nil
	}
	again, err := readState(ctx, s.path)
	if err != nil {
		return nil, nil, err
	}
	if again.Plan != s.Plan || again.Shard != s.Shard {
		return nil, nil, &StateError{s.path, "has changed"}
	}
	return again.assessment, again.exchange, nil
}

// StateError is an error about the content of one state file.
type StateError struct {
	Path    string
	Problem string
}

func (e *StateError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Problem) }

// mostHeld is how many bytes of states are kept in memory from when they are checked to when they are merged; the
// others are read again. Tests hold none.
var mostHeld = 64 << 20

// states reads the states of a folder. It must hold one for every shard of the plan, and
// nothing else but the manifest and hidden files. masks is how many the configuration has.
func (m *Manifest) states(ctx context.Context, dir string, masks int) ([]*State, error) {
	all := make([]*State, len(m.Shards))
	from := make([]string, len(m.Shards))
	found, held := false, 0
	err := m.each(ctx, dir, func(path string, text []byte) error {
		found = true
		s, err := parseState(path, text)
		switch {
		case err != nil:
			return err
		case s.Plan != m.id:
			return &StateError{path, "is of another plan"}
		case s.Shard < 0 || s.Shard >= len(all) || !s.fits(&m.Shards[s.Shard], masks):
			return &StateError{path, "is damaged: run the shard again"}
		case all[s.Shard] != nil:
			return &StateError{path, fmt.Sprintf("is of shard %d, and so is %s: remove one", s.Shard, from[s.Shard])}
		}
		all[s.Shard], from[s.Shard] = s, path
		s.path = path
		if held += len(text); held > mostHeld {
			s.assessment, s.exchange = nil, nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%s: holds no states: run the shards first, each with --state %s/NUMBER", dir, strings.TrimSuffix(dir, "/"))
	}
	return all, complete(dir, "state", from)
}

// each calls a function with the files of a folder of states or surveys, without the manifest
// and hidden files.
func (m *Manifest) each(ctx context.Context, dir string, file func(path string, text []byte) error) error {
	paths, err := publish.List(ctx, dir)
	switch {
	case err != nil && objects.Is(dir):
		return err
	case err != nil:
		return &StateError{dir, "cannot be read: " + unpathed(err).Error()}
	}
	for _, path := range paths {
		text, err := publish.ReadFile(ctx, path)
		if err != nil {
			return unread(path, err)
		}
		if m.is(text) {
			continue
		}
		if err := file(path, text); err != nil {
			return err
		}
	}
	return nil
}

// complete returns an error that names the shards without a file; from are the paths of the
// files that exist.
func complete(dir, what string, from []string) error {
	var missing []string
	for i, path := range from {
		if path == "" {
			missing = append(missing, fmt.Sprint(i))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %d of %d shards have no %s: %s", dir, len(missing), len(from), what, few(missing))
	}
	return nil
}

// few joins names: the first ten, and how many more there are.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
