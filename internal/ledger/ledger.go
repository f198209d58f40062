package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Ledger is a ledger that this process holds. One goroutine at a time may use it.
type Ledger struct {
	store   place.Store
	ctx     context.Context // of Open, without its end: what is published is entered to the end
	content *content
	now     func() time.Time
	held    bool
	failed  bool // a line could not be written
	Torn    bool // there was a line at the end of a file that was cut off, which Open removes
}

// storeAt is the store of a place, which is not looked for.
func storeAt(at string) (place.Store, error) {
	switch {
	case place.IsTable(at):
		t, err := place.ParseTable(at)
		if err != nil {
			return nil, err
		}
		if place.OpenTable == nil {
			return nil, errors.New("must be a file: this program was built without databases")
		}
		return place.OpenTable(*t), nil
	case objectpath.Is(at):
		if wrong := place.Problem(at); wrong != "" {
			return nil, errors.New(wrong)
		}
		name, err := objectpath.Parse(at)
		return &object{name: name}, err
	}
	return &file{path: at}, nil
}

// Open opens a ledger, and makes it if it is not there. Of a file and a table it waits until no other run holds it, and
// calls waiting, if it is not nil, before it waits for the first time. Errors are those of the stores, and a
// *BrokenError.
func Open(ctx context.Context, at string, waiting func()) (*Ledger, error) {
	s, err := storeAt(at)
	if err != nil {
		return nil, err
	}
	if err := s.Hold(ctx, waiting); err != nil {
		return nil, err
	}
	l := &Ledger{store: s, ctx: context.WithoutCancel(ctx), now: time.Now, held: true}
	if err := l.read(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return l, nil
}

// read reads what is there. Of a file that is held it removes a line that was cut off.
func (l *Ledger) read(ctx context.Context) error {
	text, err := l.store.Read(ctx)
	if err != nil {
		return err
	}
	if l.content, err = parse(l.Path(), text); err != nil {
		return err
	}
	if l.Torn = l.content.torn; !l.Torn {
		return nil
	}
	f, is := l.store.(*file)
	switch {
	case !is: // lines come there whole or not at all
		return &BrokenError{l.Path(), int64(len(l.content.entries)) + 1, "is cut off"}
	case l.held:
		l.content.torn = false
		return f.cut(l.content.size)
	}
	return nil
}

// Alone reports whether no other run can be publishing by this ledger while this one holds it. That is so of a file,
// whose lock ends with the process that has it.
func (l *Ledger) Alone() bool {
	_, is := l.store.(*file)
	return l.held && is
}

// Path names the place, with nothing of it that may be secret.
func (l *Ledger) Path() string { return l.store.String() }

// Next returns the number of the next entry, and the SHA-256 of the line before it.
func (l *Ledger) Next() (number int64, previous string) {
	return int64(len(l.content.entries)) + 1, l.content.head
}

// Line returns the SHA-256 of a line by its number, 64 zeros of line 0; ok is false where there is no such line.
func (l *Ledger) Line(number int64) (digest string, ok bool) {
	switch {
	case number == 0:
		return first, true
	case number < 0 || number > int64(len(l.content.entries)):
		return "", false
	}
	return l.content.entries[number-1].SHA256, true
}

// Releases returns the releases of records that count as published, in their order.
func (l *Ledger) Releases() (list []Listed) {
	for _, r := range l.content.releases() {
		if r.Published && r.Release != nil {
			list = append(list, r)
		}
	}
	return list
}

// Tables returns the releases of tables that count as published, in their order.
func (l *Ledger) Tables() (list []Listed) {
	for _, r := range l.content.releases() {
		if r.Published && r.Tables != nil {
			list = append(list, r)
		}
	}
	return list
}

// All returns all releases, of records and of tables, also those that were not published.
func (l *Ledger) All() []Listed { return l.content.releases() }

// Unknown returns the releases without outcome.
func (l *Ledger) Unknown() (list []Listed) {
	for _, r := range l.content.releases() {
		if !r.Known {
			list = append(list, r)
		}
	}
	return list
}

// Enter writes a release that is about to be published, and returns its number. It is on the disk when Enter returns
// without an error; after an error nothing may be published.
func (l *Ledger) Enter(r *Release) (number int64, err error) { return l.add(Entry{Release: r}) }

// EnterTables is Enter for tables.
func (l *Ledger) EnterTables(t *Tables) (number int64, err error) { return l.add(Entry{Tables: t}) }

// Settle writes what became of a release. After an error the release counts as published.
func (l *Ledger) Settle(number int64, published bool) error {
	_, err := l.add(Entry{Outcome: &Outcome{Of: number, Published: published}})
	return err
}

func (l *Ledger) add(e Entry) (int64, error) {
	if !l.held {
		return 0, fmt.Errorf("%s: is not held", l.Path())
	}
	if l.failed {
		return 0, fmt.Errorf("%s: an earlier line could not be written", l.Path())
	}
	e.Schema, e.Number, e.Previous, e.Time = Schema, int64(len(l.content.entries))+1, l.content.head, l.now().UTC()
	line, err := sealed(e)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.Path(), err)
	}
	if len(line) > mostLine {
		return 0, fmt.Errorf("%s: the configuration of the release is too long for an entry", l.Path())
	}
	back, err := entryOf(line, e.Number, e.Previous, l.openReleases()) // as it will be read
	if err != nil {
		return 0, fmt.Errorf("%s: the new line %w", l.Path(), err)
	}
	ctx, cancel := context.WithTimeout(l.ctx, addTime)
	defer cancel()
	if err := l.store.Add(ctx, append(line, '\n')); err != nil {
		l.failed = true
		return 0, err
	}
	c := l.content
	c.entries, c.head, c.size = append(c.entries, back), back.SHA256, c.size+int64(len(line))+1
	return e.Number, nil
}

// addTime bounds how long a line is on its way to a server.
const addTime = 5 * time.Minute

func (l *Ledger) openReleases() map[int64]bool {
	open := map[int64]bool{}
	for _, r := range l.Unknown() {
		open[r.Number] = true
	}
	return open
}

// Close lets go of the ledger.
func (l *Ledger) Close() error {
	if l == nil || !l.held {
		return nil
	}
	l.held = false
	return l.store.Close()
}

// Look reads a ledger without holding it: nothing can be entered. Torn says that a line at its end was cut off, or is
// being written. Without a ledger the error is fs.ErrNotExist.
func Look(ctx context.Context, at string) (*Ledger, error) {
	s, err := storeAt(at)
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: s, ctx: ctx, now: time.Now}
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Unmade is what Look returns, for a ledger that is not there yet: it has no lines.
func Unmade(ctx context.Context, at string) (*Ledger, error) {
	s, err := storeAt(at)
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: s, ctx: ctx, now: time.Now}
	l.content, err = parse(l.Path(), nil)
	return l, err
}

// Probe demands that a run could enter releases, and leaves nothing behind.
func Probe(ctx context.Context, at string) error {
	s, err := storeAt(at)
	if err != nil {
		return err
	}
	return s.Probe(ctx)
}
