package rolling

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// maxPending bounds what memory holds of all open files, in bytes: each could
// hold a row group, and there may be as many files as there are partitions.
const maxPending = 128 << 20

const (
	pendingFolder = ".sdlfilter"
	extension     = ".parquet"
)

// Files are the files of a stream. Encode is safe for concurrent use, and so is
// everything else, one call after another; the blocks of a partition come to
// Write in order.
type Files struct {
	root    string
	roll    parquet.Roll
	content *parquet.Content

	now    func() time.Time
	sink   func(*publish.Pending) parquet.File // what a file is written through
	budget int64                               // maxPending

	mu       sync.Mutex
	open     map[Partition]*part
	finished []*part
	begun    time.Time // of the transaction's first record; zero before it
	pending  int64
	broken   error // after it only Abort and Close do anything
}

// part is one file.
type part struct {
	Partition
	first, last int64
	date        string
	file        *publish.Pending
	out         *parquet.Output
	pending     int64 // as counted in Files.pending
	committed   bool
}

// New prepares files below the path of cfg, a folder, which is made where it is
// missing. It is an error if a column cannot be stored in Parquet, or if the
// source's columns are not decoded.
func New(cfg *parquet.SinkConfig, layout *microdata.Layout, source connectors.Source) (*Files, error) {
	if cfg.Carries(source) {
		return nil, errors.New("the columns of a stream must be decoded, but this source carries its columns")
	}
	content, err := cfg.Content(layout)
	if err != nil {
		return nil, err
	}
	f := &Files{
		root: filepath.Clean(cfg.Path), content: content, now: time.Now, budget: maxPending,
		sink: func(p *publish.Pending) parquet.File { return p.File },
		open: make(map[Partition]*part),
	}
	f.roll = *cmp.Or(cfg.Roll, parquet.DefaultRoll())
	if err := os.MkdirAll(f.root, 0o777); err != nil {
		return nil, f.failed(f.root, err)
	}
	// A folder that holds ours may be closed to us, and is then not new.
	if err := publish.SyncDirs(filepath.Dir(f.root), f.root); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, f.failed(f.root, err)
	}
	return f, nil
}

// failed names the folder in which something went wrong, once.
func (f *Files) failed(folder string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: the stream's files cannot be written: %w", folder, err)
}

func (f *Files) folder(topic string) string { return filepath.Join(f.root, topic) }

func (f *Files) pendingPath(topic, temp string) string {
	return filepath.Join(f.root, topic, pendingFolder, temp)
}

// Encode turns the released columns of a block, without its rejected records,
// into what Write takes.
func (f *Files) Encode(b *microdata.Block) (connectors.Encoded, error) { return f.content.Encode(b) }

// Write appends an encoded block of a partition, whose records are those from the
// place first to the place last, rejected ones included. A file is begun with the
// first block that has a record to release. After an error, a full disk among
// them, nothing but Abort helps.
func (f *Files) Write(ctx context.Context, topic string, partition int32, first, last int64,
	e connectors.Encoded) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if f.begun.IsZero() {
		f.begun = f.now()
	}
	f.broken = f.write(ctx, Partition{topic, partition}, first, last, e)
	return f.broken
}

func (f *Files) write(ctx context.Context, at Partition, first, last int64, e connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := f.open[at]
	switch {
	case !validTopic(at.Topic) || at.Number < 0:
		return fmt.Errorf("topic %q, partition %d: cannot be a file's name", at.Topic, at.Number)
	case first < 0 || last < first || p != nil && first <= p.last:
		return fmt.Errorf("topic %s, partition %d: the places %d to %d are not behind what is in the file", at.Topic,
			at.Number, first, last)
	case p == nil && f.content.Records(e) == 0:
		return nil
	case p == nil:
		var err error
		if p, err = f.begin(at, first); err != nil {
			return f.failed(f.folder(at.Topic), err)
		}
	}
	p.last = last
	if err := p.out.Append(ctx, e); err != nil {
		return f.failed(f.folder(at.Topic), err)
	}
	f.count(p)
	for f.pending > f.budget {
		largest := f.largest()
		if err := largest.out.Flush(ctx); err != nil {
			return f.failed(f.folder(largest.Topic), err)
		}
		f.count(largest)
	}
	return nil
}

func (f *Files) count(p *part) {
	now := p.out.Pending()
	f.pending += now - p.pending
	p.pending = now
}

func (f *Files) largest() *part {
	var largest *part
	for _, p := range f.open {
		if largest == nil || p.pending > largest.pending {
			largest = p
		}
	}
	return largest
}

func (f *Files) begin(at Partition, first int64) (*part, error) {
	if err := os.MkdirAll(filepath.Join(f.folder(at.Topic), pendingFolder), 0o777); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("part-%05d-%019d-%s%s", at.Number, first, unique(), extension)
	file, err := publish.CreatePending(f.pendingPath(at.Topic, publish.TempName(name)))
	if err != nil {
		return nil, err
	}
	p := &part{Partition: at, first: first, date: f.now().UTC().Format(time.DateOnly), file: file}
	f.open[at] = p // from here on Abort removes it
	p.out, err = f.content.Begin(f.sink(file))
	return p, err
}

// unique makes a temporary name unique to one file, so that its writer is distinguished from one
// that has died or been fenced.
func unique() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Due reports whether the transaction should be committed: a file has as many
// records or bytes as it may have, or the first record has waited long enough. A
// block without a record to release counts as one, since its place is committed
// too.
func (f *Files) Due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun.IsZero() {
		return false
	}
	if f.now().Sub(f.begun) >= time.Duration(f.roll.Interval) {
		return true
	}
	for _, p := range f.open {
		if p.out != nil && (p.out.Records() >= int64(f.roll.Records) || p.out.Bytes() >= int64(f.roll.Size)) {
			return true
		}
	}
	return false
}

// Finish makes every open file complete and durable, and returns what the
// transaction must hold. Nothing has its name yet. It is an error, and the last
// moment for one, if a file of such a name exists: those places were released
// before. Writing may go on at once, into the files of the next transaction.
func (f *Files) Finish(ctx context.Context) (Manifest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	m, err := f.finish(ctx)
	if err != nil {
		f.broken = err
		return nil, err
	}
	return m, nil
}

func (f *Files) finish(ctx context.Context) (Manifest, error) {
	parts := make([]*part, 0, len(f.open))
	for _, p := range f.open {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
	// Disks sync several files at once in little more time than one.
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for _, p := range parts {
		g.Go(func() error {
			defer bug.Guard()
			if err := errors.Join(p.out.Finish(ctx), ctx.Err()); err != nil {
				return f.failed(f.folder(p.Topic), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	m := make(Manifest, len(parts))
	var dirs []string
	for i, p := range parts {
		e := p.entry()
		m[i] = e
		final := filepath.Join(f.folder(e.Topic), filepath.FromSlash(e.Final))
		if err := os.MkdirAll(filepath.Dir(final), 0o777); err != nil {
			return nil, f.failed(filepath.Dir(final), err)
		}
		if _, err := os.Lstat(final); !errors.Is(err, fs.ErrNotExist) {
			return nil,
				fmt.Errorf(
					"%s: is there already, and these places were released before: have offsets been reset, or the topic been made anew? Move the file away, or name another folder", final)
		}
		dirs = append(dirs, filepath.Dir(final), filepath.Dir(p.file.Name()))
	}
	if err := publish.SyncDirs(f.root, dirs...); err != nil {
		return nil, f.failed(f.root, err)
	}
	f.finished = append(f.finished, parts...)
	clear(f.open)
	f.begun, f.pending = time.Time{}, 0
	return m, nil
}

func (p *part) entry() Entry {
	return Entry{
		Topic: p.Topic, Partition: p.Number, First: p.first, Last: p.last,
		Temp:    filepath.Base(p.file.Name()),
		Final:   fmt.Sprintf("date=%s/part-%05d-%019d-%019d%s", p.date, p.Number, p.first, p.last, extension),
		Records: p.out.Records(), Bytes: p.out.Bytes(),
	}
}

// Abort removes every file that has no name, of a transaction that is known to
// have been aborted: what has come to Publish stays. Files then begin anew. Where
// it is not known whether a transaction was committed (the broker did not answer),
// Abort after Finish could remove committed records: Close leaves them to Recover.
func (f *Files) Abort() error { return f.leave((*publish.Pending).Abort) }

// Close lets go of everything, and leaves it where it is. Files then begin anew.
func (f *Files) Close() error { return f.leave((*publish.Pending).Release) }

func (f *Files) leave(do func(*publish.Pending) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for _, p := range f.open {
		err = errors.Join(err, do(p.file))
	}
	for _, p := range f.finished {
		if p.committed {
			err = errors.Join(err, p.file.Release())
		} else {
			err = errors.Join(err, do(p.file))
		}
	}
	clear(f.open)
	f.finished = nil
	f.begun, f.pending, f.broken = time.Time{}, 0, nil
	return err
}
