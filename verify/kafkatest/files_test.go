package kafkatest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// released reads every Parquet file below a folder that a reader of the folder
// would see, and returns how many there are.
func released(t *testing.T, folder string) (rows []survey.Released, files int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != folder:
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".parquet") || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		files++
		r, err := rowsOf(path)
		rows = append(rows, r...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, files
}

// rowsOf reads a file's rows as their original JSON objects: in a stream of JSON, columns without a
// mask contain JSON text.
func rowsOf(path string) ([]survey.Released, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	columns := file.Schema().Columns()
	var out []survey.Released
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 512)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				object := map[string]json.RawMessage{}
				row.Range(func(column int, values []parquet.Value) bool {
					object[columns[column][0]] = jsonOf(values[0])
					return true
				})
				text, err := json.Marshal(object)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
				out = append(out, survey.Released{Value: text})
			}
			if err != nil {
				break
			}
		}
		if err := rows.Close(); err != nil {
			return nil, err
		}
	}
	if int64(len(out)) != file.NumRows() {
		return nil, fmt.Errorf("%s: %d rows could be read of %d", path, len(out), file.NumRows())
	}
	return out, nil
}

func jsonOf(v parquet.Value) json.RawMessage {
	switch v.Kind() {
	case parquet.Double:
		return strconv.AppendFloat(nil, v.Double(), 'g', -1, 64)
	case parquet.Int32, parquet.Int64:
		return strconv.AppendInt(nil, v.Int64(), 10)
	}
	if v.IsNull() {
		return json.RawMessage("null")
	}
	if text := v.ByteArray(); json.Valid(text) {
		return append(json.RawMessage(nil), text...)
	}
	text, _ := json.Marshal(string(v.ByteArray()))
	return text
}

// intoFiles returns a pipeline into rolling files.
func (c *trial) intoFiles(folder, roll string) pipeline {
	return pipeline{group: c.in, instance: "a", sink: fmt.Sprintf("parquet: {path: %q, roll: {%s}}", folder, roll)}
}

// testIntoFiles: from a topic into Parquet files, killed at random moments.
func testIntoFiles(t *testing.T, s *site) {
	c := newTrial(t, s, 13, records)
	folder := filepath.Join(c.dir, "released")
	p := c.intoFiles(folder, fmt.Sprintf("records: %d, interval: 400ms", c.n/10))
	config := c.write(t, p)
	g := rand.New(rand.NewPCG(13, 1))
	c.killing(t, g, p.group, func() *process.Process { return c.run(t, config) })
	e := c.expectation()
	e.Anywhere = true
	rows, files := released(t, folder)
	t.Logf("%d files", files)
	if files < 2*kills {
		t.Errorf("there are only %d files", files)
	}
	c.verdict(t, p, config, rows, e)
}

// testDiskFull: the disk becomes full during the run. The program ends, committed files are
// complete, and with more room the next run continues as if nothing had happened.
func testDiskFull(t *testing.T, s *site) {
	c := newTrial(t, s, 14, records)
	folder := filepath.Join(c.dir, "disk")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	// The files have some 25 bytes per record; there is room for a third of them.
	room := c.n * 8
	mounted := os.Getuid() == 0 && mount(t, folder, fmt.Sprintf("size=%d", room))
	p := c.intoFiles(folder, "records: 100000000, interval: 500ms")
	config := c.write(t, p)
	f := c.feed(t, 0, c.n*9/10, float64(c.n)/6)
	var filter *process.Process
	if mounted {
		filter = c.run(t, config)
	} else {
		// Maximum length of a file, in blocks of 512 bytes.
		p.sink = fmt.Sprintf("parquet: {path: %q, roll: {records: 100000000, interval: 5s}}", folder)
		config = c.write(t, p)
		filter = c.start(t, "/bin/sh", "-c", fmt.Sprintf("ulimit -f %d; exec %s run %s", room/4/512, program(t), config))
	}
	status, err := filter.Wait(90 * time.Second)
	if err != nil {
		t.Fatalf("on a full disk %v", err)
	}
	t.Logf("on a full disk the program exits %d", status)
	if mounted {
		if status != 1 {
			t.Errorf("on a full disk the program exits %d, want 1", status)
		}
		if output := filter.Tail(); !strings.Contains(output, "no space left") || !strings.Contains(output, folder) {
			t.Error("the program does not say which disk is full")
		}
	}
	at, err := c.committed(t.Context(), p.group, c.in, partitions)
	if err != nil {
		t.Fatal(err)
	}
	if sum(at) == c.n || sum(at) == 0 {
		t.Errorf("the disk was full at %d of %d records", sum(at), c.n)
	}
	e := c.expectation()
	e.Anywhere, e.Counts = true, at
	rows, _ := released(t, folder)
	if err := e.Check(rows).Err(); err != nil {
		t.Errorf("on the full disk, at the offsets %v: %v", at, err)
	}
	if mounted {
		if out, err := exec.Command("mount", "-o", "remount,size=1g", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	filter = c.run(t, config)
	f.finish(t)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)
	e = c.expectation()
	e.Anywhere = true
	rows, _ = released(t, folder)
	c.verdict(t, p, config, rows, e)
}

// mount mounts a memory file system at a folder; false: not permitted.
func mount(t *testing.T, folder, options string) bool {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder).CombinedOutput(); err != nil {
		t.Logf("no file system can be mounted (%v: %s), so the length of files is limited", err,
			strings.TrimSpace(string(out)))
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return true
}

// row is a record in a file to be released into a topic.
type row struct {
	ID         string  `parquet:"id"`
	Name       string  `parquet:"name"`
	Wage       float64 `parquet:"wage"`
	Hours      float64 `parquet:"hours"`
	Education  int64   `parquet:"education"`
	Experience int64   `parquet:"experience"`
	Region     string  `parquet:"region"`
	Ethnicity  string  `parquet:"ethnicity"`
}

// testFromFiles: a file is released into a topic, completely or not at all: after kills at random
// moments nothing of it is visible.
func testFromFiles(t *testing.T, s *site) {
	c := newTrial(t, s, 15, scale[int64](300_000, 2_000_000))
	c.records.Partitions, c.counts = 1, []int64{c.n}
	path := filepath.Join(c.dir, "in.parquet")
	if err := c.writeFile(path); err != nil {
		t.Fatal(err)
	}
	p := pipeline{group: c.in, source: fmt.Sprintf("parquet: {path: %q}", path), out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	g := rand.New(rand.NewPCG(15, 1))
	killed := 0
	for range scale(2, 10) {
		filter := c.run(t, config)
		wait.Elapse(t.Context(), time.Duration((0.1+0.6*g.Float64())*float64(time.Second))) // the moment of the kill
		if !filter.Ended() {
			filter.Kill()
			killed++
		}
		if !filter.Ended() || killed == 0 {
			t.Fatal("the file was released before the first kill")
		}
	}
	// The next run ends the transaction that the last killed run has left open; otherwise its
	// records would be visible only minutes later. Any record of the killed runs would be one too
	// many.
	filter := c.run(t, config)
	if status, err := filter.Wait(2 * time.Minute); err != nil || status != 0 {
		t.Fatalf("the job exits %d, %v, want 0", status, err)
	}
	e := c.expectation()
	e.Anywhere = true
	count := e.Check(c.read(t, p.out))
	if err := count.Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.Masked(count.Values); err != nil {
		t.Error(err)
	}
	// The release of the same file into a file has the same values: they do not depend on the sink.
	p.group += "-undisturbed"
	p.sink = fmt.Sprintf("parquet: {path: %q}", filepath.Join(c.dir, "out.parquet"))
	calm := c.run(t, c.write(t, p))
	if status, err := calm.Wait(2 * time.Minute); err != nil || status != 0 {
		t.Fatalf("undisturbed the job exits %d, %v, want 0", status, err)
	}
	rows, err := rowsOf(filepath.Join(c.dir, "out.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	want := e.Check(rows)
	if err := want.Err(); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	if err := survey.Same(count.Values, want.Values); err != nil {
		t.Error(err)
	}
}

func (c *trial) writeFile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := parquet.NewGenericWriter[row](f)
	for o := range c.n {
		r := c.records.At(0, o)
		if _, err := w.Write(
			[]row{{r.ID, r.Name, r.Wage, r.Hours, int64(r.Education), int64(r.Experience), r.Region, r.Ethnicity}}); err != nil {
			return err
		}
		if (o+1)%50_000 == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.Close()
}
