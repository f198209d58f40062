package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// stateMagic is the beginning of a state file, and anyStateMagic that of all versions; a change of the format changes
// it.
const (
	anyStateMagic = "sdlfilter.shard-state/"
	stateMagic    = anyStateMagic + "10\n"
)

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
	Sketch       *ledger.Sketch          `json:"sketch,omitempty"`  // of the respondents, with a ledger
	Places       map[int][]byte          `json:"places,omitempty"`  // by stream, if columns hold the places
	Exchange     int                     `json:"exchange_bytes,omitempty"`
	Pieces       []StatePiece            `json:"pieces,omitempty"` // of the assessment's sample

	// an assess.Accumulator without its sample; nil if nothing is measured, or while it is in the file only
	assessment []byte
	// a pipeline.Exchange, after the assessment in the file, of Exchange bytes; nil if no numbers are exchanged, or while
	// it is in the file only
	exchange []byte
	path     string // of the file that it was read from
	behind   int64  // where in that file the pieces begin
	held     int    // bytes of that file in memory
}

// StatePiece is an assess.SamplePiece. A commit reads those that it needs.
type StatePiece struct {
	Lowest uint32 `json:"lowest"` // priority
	Bytes  int64  `json:"bytes"`
	SHA256 []byte `json:"sha256"`

	data []byte // nil while it is in the file only
}

// assessed enters what the shard has measured.
func (s *State) assessed(measured *assess.Accumulator) {
	exact, pieces := measured.MarshalApart()
	s.assessment = exact
	for _, p := range pieces {
		sum := sha256.Sum256(p.Data)
		s.Pieces = append(s.Pieces, StatePiece{Lowest: p.Lowest, Bytes: int64(len(p.Data)), SHA256: sum[:], data: p.Data})
	}
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

// Write writes the state so that only its owner can read it: the magic word, the length of what comes before the digest
// (a line of JSON, the assessment without its sample, the expected change of exchanged numbers), that, the digest of
// all before it, and the pieces of the sample, each with its digest in the JSON.
func (s *State) Write(path string) error {
	s.Exchange = len(s.exchange)
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text := sealed(slices.Concat(head, []byte{'\n'}, s.assessment, s.exchange))
	for _, p := range s.Pieces {
		if p.data == nil {
			return errors.New("the pieces of the sample are in another file")
		}
		text = append(text, p.data...)
	}
	return publish.Replace(path, text)
}

// sealed puts the magic word and the length before the core of a state, and the digest behind it.
func sealed(core []byte) []byte {
	text := binary.LittleEndian.AppendUint64([]byte(stateMagic), uint64(len(core)))
	text = append(text, core...)
	sum := sha256.Sum256(text)
	return append(text, sum[:]...)
}

// unread is the error of a state that cannot be read. The error of an object already names it.
func unread(path string, err error) error {
	if objectpath.Is(path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, unpathed(err))
}

// readState reads a state without its pieces; the error names the file.
func readState(ctx context.Context, path string) (*State, error) {
	s, _, err := readStateUnless(ctx, path, nil)
	return s, err
}

// coreAtOnce is how many bytes of a state are read first. What is longer takes a second request. Tests read less.
var coreAtOnce int64 = 256 << 10

// readStateUnless reads a state without its pieces, unless is says of a file without the magic word that it is
// something else.
func readStateUnless(ctx context.Context, path string, is func(text []byte) bool) (s *State, other bool, err error) {
	f, err := publish.Open(ctx, path)
	if err != nil {
		return nil, false, unread(path, err)
	}
	defer f.Close()
	text, err := f.Between(0, min(f.Size(), coreAtOnce))
	if err != nil {
		return nil, false, unread(path, err)
	}
	if is != nil && !bytes.HasPrefix(text, []byte(anyStateMagic)) {
		if text, err = publish.ReadFile(ctx, path); err != nil {
			return nil, false, unread(path, err)
		}
		if is(text) {
			return nil, true, nil
		}
	}
	if more := coreLength(text); more > uint64(len(text)) && more <= uint64(f.Size()) {
		rest, err := f.Between(int64(len(text)), int64(more))
		if err != nil {
			return nil, false, unread(path, err)
		}
		text = append(text, rest...)
	}
	s, err = parseState(path, text, f.Size())
	return s, false, err
}

// coreLength is the number of bytes of a state that begins with a text up to its pieces; 0 if there are too few to
// tell.
func coreLength(text []byte) uint64 {
	head := len(stateMagic) + 8
	if len(text) < head || !bytes.HasPrefix(text, []byte(stateMagic)) {
		return 0
	}
	n := binary.LittleEndian.Uint64(text[len(stateMagic):])
	if n > math.MaxInt64/2 {
		return n
	}
	return uint64(head) + n + sha256.Size
}

// parseState parses the beginning of a state's file of size bytes: all before the pieces, or more.
func parseState(path string, text []byte, size int64) (*State, error) {
	core := coreLength(text)
	switch {
	case !bytes.HasPrefix(text, []byte(stateMagic)) && bytes.HasPrefix(text, []byte(anyStateMagic)):
		return nil, &StateError{path, "was written by another version of the program"}
	case !bytes.HasPrefix(text, []byte(stateMagic)):
		return nil, &StateError{path, "is no state of a shard"}
	case core == 0 || core > uint64(len(text)):
		return nil, &StateError{path, "is cut off"}
	}
	body := core - sha256.Size
	if sum := sha256.Sum256(text[:body]); !bytes.Equal(sum[:], text[body:core]) {
		return nil, &StateError{path, "is damaged or cut off: run the shard again"}
	}
	head, assessment, _ := bytes.Cut(text[len(stateMagic)+8:body], []byte{'\n'})
	s := &State{assessment: assessment, path: path, behind: int64(core), held: len(text)}
	if err := json.Unmarshal(head, s); err != nil {
		return nil, &StateError{path, "is damaged: run the shard again"}
	}
	if s.Exchange < 0 || s.Exchange > len(assessment) {
		return nil, &StateError{path, "is damaged: run the shard again"}
	}
	at := s.behind
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if p.Bytes < 0 || p.Bytes > size-at || i > 0 && p.Lowest < s.Pieces[i-1].Lowest {
			return nil, &StateError{path, "is damaged or cut off: run the shard again"}
		}
		if end := at + p.Bytes; end <= int64(len(text)) {
			p.data = text[at:end]
		}
		at += p.Bytes
	}
	if at != size {
		return nil, &StateError{path, "is damaged or cut off: run the shard again"}
	}
	s.assessment, s.exchange = assessment[:len(assessment)-s.Exchange], assessment[len(assessment)-s.Exchange:]
	return s, nil
}

// release forgets what a commit reads again from the file when it merges the state.
func (s *State) release() {
	s.assessment, s.exchange = nil, nil
	for i := range s.Pieces {
		s.Pieces[i].data = nil
	}
}

// measured returns the state's assessment, without its sample, and the expected change of exchanged numbers. A
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
	s.Pieces, s.behind = again.Pieces, again.behind
	return again.assessment, again.exchange, nil
}

// sample calls add with the pieces of the sample, in their order, up to the first of which no record is at most limit.
// It is called after measured.
func (s *State) sample(ctx context.Context, limit func() uint32, add func(data []byte) error) error {
	var file *publish.Opened
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	at := s.behind
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if p.Lowest > limit() {
			return nil
		}
		data := p.data
		if data == nil {
			var err error
			if file == nil {
				if file, err = publish.Open(ctx, s.path); err != nil {
					return unread(s.path, err)
				}
			}
			if data, err = file.Between(at, at+p.Bytes); err != nil {
				return unread(s.path, err)
			}
		}
		at += p.Bytes
		if sum := sha256.Sum256(data); !bytes.Equal(sum[:], p.SHA256) {
			return &StateError{s.path, "is damaged: run the shard again"}
		}
		if err := add(data); err != nil {
			return err
		}
	}
	return nil
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
	err := m.each(ctx, dir, func(path string) error {
		s, other, err := readStateUnless(ctx, path, m.is)
		switch {
		case err != nil:
			return err
		case other:
			return nil
		}
		found = true
		switch {
		case s.Plan != m.id:
			return &StateError{path, "is of another plan"}
		case s.Shard < 0 || s.Shard >= len(all) || !s.fits(&m.Shards[s.Shard], masks):
			return &StateError{path, "is damaged: run the shard again"}
		case all[s.Shard] != nil:
			return &StateError{path, fmt.Sprintf("is of shard %d, and so is %s: remove one", s.Shard, from[s.Shard])}
		}
		all[s.Shard], from[s.Shard] = s, path
		if held += s.held; held > mostHeld {
			s.release()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil,
			fmt.Errorf("%s: holds no states: run the shards first, each with --state %s/NUMBER", dir,
				strings.TrimSuffix(dir, "/"))
	}
	return all, complete(dir, "state", from)
}

// each calls a function with the paths of a folder of states or surveys, without hidden files.
func (m *Manifest) each(ctx context.Context, dir string, file func(path string) error) error {
	paths, err := publish.List(ctx, dir)
	switch {
	case err != nil && objectpath.Is(dir):
		return err
	case err != nil:
		return &StateError{dir, "cannot be read: " + unpathed(err).Error()}
	}
	for _, path := range paths {
		if err := file(path); err != nil {
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
