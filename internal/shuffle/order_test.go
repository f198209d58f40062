package shuffle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// people writes two files of n and n/2 records into a folder and returns their lines, stream by
// stream.
func people(t *testing.T, n int) (dir string, lines [][]string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "in")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for stream, n := range []int{n, n / 2} {
		lines = append(lines, nil)
		for i := range n {
			lines[stream] = append(lines[stream], fmt.Sprintf("%d,p%d-%d", i%7, stream, i))
		}
		text := "wage,person\n" + strings.Join(lines[stream], "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", stream)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, lines
}

// release runs a source through a sink in blocks of a given number of records, up to Finish, and
// returns the sink. With backwards it encodes the last block first.
func release(t *testing.T, from connectors.SourceConfig, to connectors.SinkConfig, cut int,
	backwards bool) connectors.Sink {
	t.Helper()
	src, err := from.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		form := microdata.Array
		if f.Numeric() {
			form = microdata.Numbers
		}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: form})
		layout.Release = append(layout.Release, microdata.Output{Field: f, Source: i, Column: i, Decimals: -1})
	}
	s, err := to.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Read(t.Context(), layout, connectors.Cut{Records: cut, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var raws []connectors.Raw
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, raw)
	}
	encoded := make([]connectors.Encoded, len(raws))
	for i := range raws {
		if backwards {
			i = len(raws) - 1 - i
		}
		b := new(microdata.Block)
		if err := raws[i].Decode(b); err != nil {
			t.Fatal(err)
		}
		if encoded[i], err = s.Encode(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range encoded {
		if err := s.Write(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// shuffled returns the lines of a release.
func shuffled(t *testing.T, dir string, values bool, ranks Ranks, most int64, cut int, backwards bool) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.csv")
	var to connectors.SinkConfig = &csv.SinkConfig{Path: out}
	if values {
		to = asValues{to}
	}
	text := published(t, release(t, &csv.SourceConfig{Path: dir}, shuffledConfig{to, ranks, most}, cut, backwards), out)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != "wage,person" {
		t.Fatalf("the header is %q", lines[0])
	}
	return lines[1:]
}

// published finishes a release and returns its text.
func published(t *testing.T, s connectors.Sink, out string) string {
	t.Helper()
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// byRank returns the required order of a release: all records sorted by their ranks, computed one
// by one, and equal ones by stream and place.
func byRank(lines [][]string, ranks Ranks) []string {
	type ranked struct {
		rank          uint64
		stream, place int
	}
	var all []ranked
	for stream := range lines {
		for i := range lines[stream] {
			b := new(microdata.Block)
			b.Reset(stream, int64(i), 1, 0)
			var rank [1]uint64
			ranks(rank[:], b)
			all = append(all, ranked{rank[0], stream, i})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.stream, b.stream), cmp.Compare(a.place, b.place))
	})
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = lines[r.stream][r.place]
	}
	return out
}

// The order is that of the ranks: independent of the source's blocks, of the order of workers, and
// of the available memory.
func TestOrder(t *testing.T) {
	dir, lines := people(t, 160)
	few := func(dst []uint64, b *microdata.Block) { // many records of one rank
		hashed(3)(dst, b)
		for i := range dst {
			dst[i] &= 0x8000000000000003
		}
	}
	same := func(dst []uint64, _ *microdata.Block) { clear(dst) }
	last := func(dst []uint64, b *microdata.Block) { // distinguished only by their last byte
		for i := range dst {
			dst[i] = uint64(255 - b.Place(i)%256)
		}
	}
	for name, ranks := range map[string]Ranks{"key 1": hashed(1), "key 2": hashed(2), "few": few, "same": same,
		"last byte": last} {
		want := byRank(lines, ranks)
		for _, c := range []struct {
			most      int64
			cut       int
			backwards bool
		}{{0, 1000, false}, {0, 64, true}, {0, 1, false}, {1, 64, false}, {4000, 100, true}} {
			for _, values := range []bool{false, true} {
				if got := shuffled(t, dir, values, ranks, c.most, c.cut, c.backwards); !slices.Equal(got, want) {
					t.Errorf("%s, %+v, as values %v: %d records, not in the order of their ranks", name, c, values, len(got))
				}
			}
		}
	}
	if slices.Equal(byRank(lines, hashed(1)), byRank(lines, hashed(2))) {
		t.Error("two keys give one order")
	}
}

// JSON text is text of JSON in a shuffled release too.
func TestJSONText(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	text := `{"a":[1,{"b":2}],"c":"x"}` + "\n"
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := release(t, &jsonl.SourceConfig{Path: in},
		shuffledConfig{SinkConfig: &jsonl.SinkConfig{Path: out}, ranks: hashed(1)}, 10, false)
	if got := published(t, s, out); got != text {
		t.Errorf("%s became %s", text, got)
	}
}

// A shuffled release has the header and the lines of one that keeps the order, byte by byte.
func TestSpelling(t *testing.T) {
	comma := &csv.SourceConfig{Delimiter: ";", Decimal: ","}
	for name, c := range map[string]struct {
		from *csv.SourceConfig
		to   csv.SinkConfig
		text string
	}{
		"quotes and CRLF": {comma, csv.SinkConfig{},
			"a;b;\"c d\"\r\n1,50;\"x\";\"p;\"\"q\"\"\"\r\n2,00;\"y\";\r\n;\"z\";\"\"\r\n"},
		"no line end":       {comma, csv.SinkConfig{}, "a;b\n1,50;x\n02,0;y\n3;z"},
		"a mark and spaces": {&csv.SourceConfig{}, csv.SinkConfig{}, "\ufeffa,b\n 1.50, x \n2,y\n"},
		"no header": {&csv.SourceConfig{Header: new(bool), NA: []string{"NA"}}, csv.SinkConfig{},
			"1e3,NA\n2,\"NA\"\n"},
		"another mark":  {comma, csv.SinkConfig{Decimal: "."}, "a;b\n1,50;x\n02,0;y\n"},
		"all in quotes": {&csv.SourceConfig{}, csv.SinkConfig{Quoting: "all", LineEnding: "crlf"}, "a,b\n1.50,x\n02,y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.from.Path = filepath.Join(dir, "in.csv")
			if err := os.WriteFile(c.from.Path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			kept, other := c.to, c.to
			kept.Path, other.Path = filepath.Join(dir, "kept.csv"), filepath.Join(dir, "other.csv")
			want := strings.SplitAfter(published(t, release(t, c.from, &kept, 2, false), kept.Path), "\n")
			got := strings.SplitAfter(
				published(t, release(t, c.from, shuffledConfig{SinkConfig: &other, ranks: hashed(1)}, 2, false), other.Path), "\n")
			if len(want) < 3 || c.from.Header == nil && want[0] != got[0] {
				t.Fatalf("%q, then %q", want[0], got)
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%q, in order %q", got, want)
			}
		})
	}
}

// What only says who wrote a record, and so where it stood, is the same in all of them: quotes that
// are habit, line ends, and the spelling of several files.
func TestSpellingTellsNothing(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want string }{
		"quotes": {"a,b\n1,\"x\"\n2,\"y,\"\n3,\"\"\n", "4,x\n5,\"z\"\"\"\n", "1,x\n2,\"y,\"\n3,\"\"\n4,x\n5,\"z\"\"\"\n"},
		// The column in which every field is in quotes keeps them.
		"last column": {"a,b,c\n\"1\",\"x\",\"u\"\n", "\"2\",\"y\",v\n", "\"1\",\"x\",u\n\"2\",\"y\",v\n"},
		"line ends":   {"a,b\r\n1,x\r\n", "2,y\n", "1,x\r\n2,y\r\n"},
		"one habit":   {"a,b\n1,\"x\"\n", "2,\"y\"\n", "1,\"x\"\n2,\"y\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
			if err := os.WriteFile(in, []byte(c.first+c.second), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, backwards := range []bool{false, true} {
				text := published(t,
					release(t, &csv.SourceConfig{Path: in}, shuffledConfig{SinkConfig: &csv.SinkConfig{Path: out}, ranks: inOrder}, 1,
						backwards), out)
				if _, text, _ = strings.Cut(text, "\n"); text != c.want {
					t.Errorf("%q, want %q", text, c.want)
				}
			}
		})
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"0.csv": "a,b\n1.50,\"x\"\n", "1.csv": "a,b\n1.5,x\n"} {
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.csv")
	text := published(t,
		release(t, &csv.SourceConfig{Path: filepath.Join(dir, "in")},
			shuffledConfig{SinkConfig: &csv.SinkConfig{Path: out}, ranks: inOrder}, 1, false), out)
	if text != "a,b\n1.5,x\n1.5,x\n" {
		t.Errorf("two files: %q", text)
	}
}

// killed is set in a process that is to die at a given step of a release.
const killed = "SHUFFLE_KILLED"

// A killed run leaves no record behind in a named file, and the next run is as if it had not
// happened.
func TestKilled(t *testing.T) {
	if step := os.Getenv(killed); step != "" {
		dir := os.Getenv(killed + "_DIR")
		s := release(t, &csv.SourceConfig{Path: filepath.Join(dir, "in")},
			shuffledConfig{SinkConfig: &csv.SinkConfig{Path: filepath.Join(dir, "out", "r.csv")}, ranks: hashed(1), most: 1}, 10,
			false)
		if step == "finished" {
			if err := s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	in, lines := people(t, 100)
	dir := filepath.Dir(in)
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"written", "finished"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), killed+"="+step, killed+"_DIR="+dir)
		if text, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%s: was not killed: %v\n%s", step, err, text)
		}
		left, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			text, err := os.ReadFile(filepath.Join(out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			// The release itself is finished under its temporary name, and only its owner can read
			// it.
			if info, _ := e.Info(); e.Name() != ".r.csv.sdlfilter-tmp" || info.Mode().Perm() != 0o600 || step == "written" &&
				bytes.Contains(text, []byte("p0-")) {
				t.Errorf("%s: left %s with %d bytes, mode %v", step, e.Name(), len(text), info.Mode())
			}
		}
	}
	s := release(t, &csv.SourceConfig{Path: in},
		shuffledConfig{SinkConfig: &csv.SinkConfig{Path: filepath.Join(out, "r.csv")}, ranks: hashed(1)}, 10, false)
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "r.csv"))
	if err != nil || string(text) != "wage,person\n"+strings.Join(byRank(lines, hashed(1)), "\n")+"\n" {
		t.Errorf("after killed runs: %v, %d bytes", err, len(text))
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
