package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// File is one file of a source.
type File struct {
	Path string // to open it by
	Rel  string // relative to the root, slash-separated
	// Label is the file's name for messages and quarantine entries. The values
	// of partition folders are records' values and stand as * in it; files that
	// would then read alike are numbered.
	Label      string
	Partitions []Partition // in the order of the folders

	object *object // nil: a file of this machine
}

// Partition is a Hive folder key=value.
type Partition struct {
	Key   string
	Value string // unescaped; "" where Null
	Null  bool   // the folder stands for records whose key is null
}

// hiveNull is how Hive, Spark and DuckDB write a null in a folder's name.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// Set is what a path stands for.
type Set struct {
	Root          string // the folder that Rel is relative to
	Files         []File // by Rel, in byte order; at least one
	Folder        bool   // the path was a folder or a glob: the output is a folder too
	PartitionKeys []string

	path       string // as it was asked for, to look again
	listed     bool   // the files were named one by one: there is nothing to look for again
	extensions []string
	ctx        context.Context // of objects: until when they are read
}

// Find returns the files of p, which is a file (of whatever extension), a
// folder, or a glob. A folder stands for all files in it and below it that have
// one of the extensions (".csv.gz", matched without regard to case); hidden
// files, names that begin with _ (_SUCCESS, _metadata) other than partition
// folders, and temporary files of a run are no data. In a glob * and ? match
// within one name, […] one character, ** any number of folders; a * or **
// at the end is limited to the extensions, a folder that it matches stands for
// its files. A path that exists is that file or folder even if it reads like a
// glob.
//
// It is an error if there is no such file, if nothing matches, or if the files
// do not all have the same partition keys.
//
// A path may be that of objects (s3://BUCKET/KEY): a key is a file, what lies below it a
// folder. They are read until ctx ends.
func Find(ctx context.Context, p string, extensions ...string) (*Set, error) {
	var s *Set
	var err error
	if objectpath.Is(p) {
		s, err = findObjects(ctx, p, extensions)
	} else {
		s, err = find(p, extensions)
	}
	if err != nil {
		return nil, err
	}
	s.path, s.extensions, s.ctx = p, extensions, ctx
	return s, nil
}

// Listed are the files or objects with these paths, in this order: a folder's, but for where they lie. root is the
// folder that most of them lie in.
func Listed(ctx context.Context, root string, paths []string) (*Set, error) {
	s := &Set{Root: root, Folder: true, path: root, listed: true, ctx: ctx}
	for i, p := range paths {
		rel, below := strings.CutPrefix(p, strings.TrimRight(root, "/")+"/")
		_, label, _ := partitions(rel) // a key that stands twice is no column here
		if below {
			label = root + "/" + label
		}
		f := File{Path: p, Rel: fmt.Sprintf("%09d", i), Label: label}
		if objectpath.Is(p) {
			name, err := objectpath.Parse(p)
			if err != nil {
				return nil, f.Err(err)
			}
			b, err := objects.Open(ctx, name)
			if err != nil {
				return nil, f.Err(err)
			}
			info, err := b.Head(ctx, name.Key)
			if err != nil {
				return nil, f.Err(err)
			}
			f.object = &object{ctx, b, info}
		}
		s.Files = append(s.Files, f)
	}
	number(s.Files)
	return s, nil
}

// One is the i-th file of listed ones alone.
func (s *Set) One(i int) *Set {
	one := *s
	one.Files = s.Files[i : i+1 : i+1]
	return &one
}

func find(p string, extensions []string) (*Set, error) {
	if p == "" {
		return nil, errors.New("path: must not be empty")
	}
	info, err := os.Stat(p)
	switch {
	case err == nil && info.IsDir():
		return findFolder(filepath.Clean(p), extensions)
	case err == nil:
		dir, base := filepath.Split(filepath.Clean(p))
		root := filepath.Clean(dir)
		return &Set{Root: root, Files: []File{{Path: filepath.Clean(p), Rel: base, Label: filepath.Clean(p)}}}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case hasMeta(p):
		return findGlob(p, extensions)
	}
	return nil, fmt.Errorf("%s: no such file or folder", p)
}

func findFolder(root string, extensions []string) (*Set, error) {
	w := walker{root: root, extensions: extensions}
	if err := w.tree(""); err != nil {
		return nil, err
	}
	if len(w.paths) == 0 {
		return nil, fmt.Errorf("%s: the folder holds no data file (%s)", root, strings.Join(extensions, ", "))
	}
	return w.set()
}

func findGlob(pattern string, extensions []string) (*Set, error) {
	root, segments := splitGlob(pattern)
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("%s: not a valid glob: %q has an unfinished [ or \\", pattern, s)
		}
	}
	if _, err := os.Stat(root); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no file matches, the folder %s does not exist", pattern, root)
		}
		return nil, err
	}
	w := walker{root: root, extensions: extensions}
	if err := w.glob("", segments); err != nil {
		return nil, err
	}
	if len(w.paths) == 0 {
		return nil, fmt.Errorf("%s: no file matches", pattern)
	}
	return w.set()
}

func hasMeta(p string) bool { return strings.ContainsAny(p, "*?[") }

// splitGlob returns the folder before the first name with a wildcard, and the
// names from there on, with runs of ** made one.
func splitGlob(pattern string) (root string, segments []string) {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	i := slices.IndexFunc(parts, hasMeta)
	root = strings.Join(parts[:i], "/")
	switch {
	case i == 0:
		root = "."
	case root == "":
		root = "/"
	}
	return filepath.FromSlash(root), slices.CompactFunc(parts[i:], func(a, b string) bool {
		return a == "**" && b == "**"
	})
}

// walker collects files below root.
type walker struct {
	root       string
	extensions []string
	paths      map[string]string // Rel → Path
	above      []fs.FileInfo     // the folders being walked, outermost first
	objects    *tree             // of objects; nil: the folders of this machine
}

// entry is a file or folder with symbolic links resolved.
type entry struct {
	name string
	rel  string
	dir  bool
}

// entries lists a folder. What is neither a folder nor a regular file (a
// dangling link, a socket) is left out.
func (w *walker) entries(rel string) ([]entry, error) {
	if w.objects != nil {
		return w.objects.entries(rel), nil
	}
	list, err := os.ReadDir(filepath.Join(w.root, filepath.FromSlash(rel)))
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(list))
	for _, e := range list {
		full := path.Join(rel, e.Name())
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(full)))
			if err != nil {
				continue
			}
			mode = info.Mode().Type()
		}
		if mode.IsDir() || mode.IsRegular() {
			out = append(out, entry{e.Name(), full, mode.IsDir()})
		}
	}
	return out, nil
}

// enter guards against links that lead back to a folder above.
func (w *walker) enter(rel string, visit func() error) error {
	if w.objects != nil {
		return visit() // no links
	}
	info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(rel)))
	if err != nil {
		return err
	}
	for _, a := range w.above {
		if os.SameFile(a, info) {
			return nil
		}
	}
	w.above = append(w.above, info)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	return visit()
}

// tree collects every data file below rel.
func (w *walker) tree(rel string) error {
	return w.enter(rel, func() error {
		list, err := w.entries(rel)
		if err != nil {
			return err
		}
		for _, e := range list {
			switch {
			case skipped(e.name, e.dir):
			case e.dir:
				err = w.tree(e.rel)
			case w.extended(e.name):
				w.add(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// glob collects what the segments match below rel.
func (w *walker) glob(rel string, segments []string) error {
	head, last := segments[0], len(segments) == 1
	if head == "**" && last {
		return w.tree(rel)
	}
	if head == "**" {
		if err := w.glob(rel, segments[1:]); err != nil {
			return err
		}
	}
	visit := func() error {
		list, err := w.entries(rel)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := w.match(e, head, last, segments); err != nil {
				return err
			}
		}
		return nil
	}
	if head == "**" {
		return w.enter(rel, visit) // only ** can walk in a circle
	}
	return visit()
}

func (w *walker) match(e entry, head string, last bool, segments []string) error {
	if head == "**" {
		if e.dir && !skipped(e.name, true) {
			return w.glob(e.rel, segments)
		}
		return nil
	}
	if ok, _ := path.Match(head, e.name); !ok || publish.IsTemp(e.name) {
		return nil
	}
	// A hidden name is meant only where the pattern itself writes its first character.
	if skipped(e.name, e.dir) && head[0] != e.name[0] {
		return nil
	}
	switch {
	case last && e.dir:
		return w.tree(e.rel)
	case last && (head != "*" || w.extended(e.name)):
		w.add(e)
	case !last && e.dir:
		return w.glob(e.rel, segments[1:])
	}
	return nil
}

func (w *walker) add(e entry) {
	if w.paths == nil {
		w.paths = map[string]string{}
	}
	w.paths[e.rel] = w.join(e.rel)
}

// join is the path of a name below the root.
func (w *walker) join(rel string) string {
	if w.objects != nil {
		return w.root + "/" + rel
	}
	return filepath.Join(w.root, filepath.FromSlash(rel))
}

func (w *walker) extended(name string) bool {
	return slices.ContainsFunc(w.extensions, func(ext string) bool {
		return len(name) > len(ext) && strings.EqualFold(name[len(name)-len(ext):], ext)
	})
}

// skipped reports names that are no data. A partition folder may begin with _,
// as the name of a column may.
func skipped(name string, dir bool) bool {
	if name[0] == '.' || publish.IsTemp(name) {
		return true
	}
	return name[0] == '_' && !(dir && strings.Contains(name, "="))
}

func (w *walker) set() (*Set, error) {
	s := &Set{Root: w.root, Folder: true}
	for rel, p := range w.paths {
		parts, label, err := partitions(rel)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.join(label), err)
		}
		s.Files = append(s.Files,
			File{Path: p, Rel: rel, Label: w.join(label), Partitions: parts, object: w.objects.object(rel)})
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Rel, b.Rel) })
	number(s.Files)
	s.PartitionKeys = keys(s.Files[0])
	for _, f := range s.Files[1:] {
		if k := keys(f); !slices.Equal(k, s.PartitionKeys) {
			return nil,
				fmt.Errorf("%s: every file must lie in folders of the same keys, in the same order: got %s, and %s for %s",
					f.Label, show(k), show(s.PartitionKeys), s.Files[0].Label)
		}
	}
	return s, nil
}

// partitions reads the key=value folders of a relative path, and returns the
// path with their values replaced by *.
func partitions(rel string) (parts []Partition, label string, err error) {
	names := strings.Split(rel, "/")
	for i, name := range names[:len(names)-1] {
		key, value, ok := strings.Cut(name, "=")
		if !ok || key == "" {
			continue
		}
		key, value = unescape(key), unescape(value)
		if slices.ContainsFunc(parts, func(p Partition) bool { return p.Key == key }) {
			err = fmt.Errorf("the folders name the key %q twice", key)
		}
		p := Partition{Key: key, Value: value}
		if value == hiveNull {
			p.Value, p.Null = "", true
		}
		parts = append(parts, p)
		names[i] = key + "=*"
	}
	return parts, strings.Join(names, "/"), err
}

// unescape undoes percent-encoding. A % that encodes nothing stands for itself,
// as it does to Hive.
func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// number tells apart files whose labels are the same.
func number(files []File) {
	total := map[string]int{}
	for _, f := range files {
		total[f.Label]++
	}
	seen := map[string]int{}
	for i := range files {
		if l := files[i].Label; total[l] > 1 {
			seen[l]++
			files[i].Label = fmt.Sprintf("%s (%d of %d)", l, seen[l], total[l])
		}
	}
}

func keys(f File) []string {
	var k []string
	for _, p := range f.Partitions {
		k = append(k, p.Key)
	}
	return k
}

func show(keys []string) string {
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ", ")
}
