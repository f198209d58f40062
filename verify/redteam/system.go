package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// What the machine, and others on it, can do to a run.
var systemAttacks = []attack{
	{"rewritten-source", "rewrites the source in place while it is read, its columns in another order", rewritten},
	{"cut-source", "cuts the source, or sets its time back after a rewrite, while it is read", cutSource},
	{"planted-names", "plants links and files under temporary names", planted},
	{"devices", "has devices and pipes replaced by files", devices},
	{"killed-run", "kills runs and takes an old report for that of a new release", killed},
	{"loosened", "releases a withheld column, or passes the gate, by a variable or a flag", loosened},
	{"preview", "prints what the gate refuses row by row", preview},
}

// during runs the program and calls do once, after a share of the time that a
// whole run takes; it returns the exit status.
func (s *scene) during(after time.Duration, do func() error, args ...string) (status int, printed string, err error) {
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	time.Sleep(after)
	meddled := do()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, err = exit.ExitCode(), nil
	}
	return status, out.String(), errors.Join(err, meddled)
}

const bigRecords = 200_000

// bigTable is CSV text whose run takes some tenths of a second. The swapped one has
// the identifier where the other has kind: read by the old places it would leave.
func (s *scene) bigTable(swapped bool) string {
	var b strings.Builder
	b.WriteString(map[bool]string{false: "id,wage,kind\n", true: "kind,wage,id\n"}[swapped])
	for i := range bigRecords {
		first, last := serial(i), "k0000"+string('a'+rune(i%5))+"x"
		if swapped {
			first, last = last, first
		}
		fmt.Fprintf(&b, "%s,%.2f,%s\n", first, 100+900*math.Abs(s.rng.NormFloat64()), last)
	}
	return b.String()
}

// secrets counts the lines of a release that hold an identifier.
func (s *scene) secrets(name string) (n, lines int, err error) {
	text, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	for line := range strings.Lines(string(text)) {
		lines++
		if strings.Contains(line, "S7") {
			n++
		}
	}
	return n, lines - 1, err
}

func (s *scene) bigRun() (whole time.Duration, tables [2]string, err error) {
	if err := s.key(); err != nil {
		return 0, tables, err
	}
	tables = [2]string{s.bigTable(false), s.bigTable(true)}
	if err := s.write("in.csv", tables[0]); err != nil {
		return 0, tables, err
	}
	start := time.Now()
	_, _,
		err = s.release(pipeline("in.csv", "out.csv", "{noise: {columns: [wage], sd: 20%}}", "assess: {replicates: 2}",
		"report: {json: r.json}"), 0)
	return time.Since(start), tables, err
}

func rewritten(s *scene) error {
	whole, tables, err := s.bigRun()
	if err != nil {
		return err
	}
	const runs = 15
	refused := 0
	for i := range runs {
		if err := errors.Join(s.write("in.csv", tables[0]), os.RemoveAll(s.path("out.csv"))); err != nil {
			return err
		}
		status, printed, err := s.during(whole*time.Duration(i+1)/(runs+1), func() error {
			f, err := os.OpenFile(s.path("in.csv"), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString(tables[1])
			return errors.Join(err, f.Close())
		}, "run", "-q", "pipeline.yaml")
		if err != nil {
			return err
		}
		if strings.Contains(printed, "changed while") {
			refused++
		}
		n, _, err := s.secrets("out.csv")
		if err != nil {
			return err
		}
		s.gained(n, "%d identifiers in a release (status %d)", n, status)
	}
	s.say("%d of %d runs said that the source was changed", refused, runs)
	return nil
}

func cutSource(s *scene) error {
	whole, tables, err := s.bigRun()
	if err != nil {
		return err
	}
	const runs = 12
	for i := range runs {
		if err := errors.Join(s.write("in.csv", tables[0]), os.RemoveAll(s.path("out.csv"))); err != nil {
			return err
		}
		path := s.path("in.csv")
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		changed := time.Time{}
		status, _, err := s.during(whole*time.Duration(i+1)/(runs+1), func() error {
			changed = time.Now()
			if i%2 == 0 {
				at := strings.IndexByte(tables[0][len(tables[0])/2:], '\n') + len(tables[0])/2 + 1
				return os.Truncate(path, int64(at))
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			// The columns in another order, the size and the time as they were.
			_, err = f.WriteString(tables[1][:min(len(tables[0]), len(tables[1]))])
			return errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, info.ModTime()))
		}, "run", "-q", "pipeline.yaml")
		if err != nil {
			return err
		}
		n, lines, err := s.secrets("out.csv")
		if err != nil {
			return err
		}
		s.gained(n, "%d identifiers in a release", n)
		if status != 0 || lines == bigRecords {
			continue
		}
		var report struct{ Started time.Time }
		if err := s.report("r.json", &report); err != nil {
			return err
		}
		if changed.Before(report.Started.Add(20 * time.Millisecond)) {
			continue // the file had been cut before the run looked at it
		}
		s.gained(1, "a release of %d of %d records, status 0", lines, bigRecords)
	}
	return nil
}

// report reads fields of a report.
func (s *scene) report(name string, into any) error {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func planted(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(200), serial); err != nil {
		return err
	}
	config := pipeline("in.csv", "out/r.csv", "{noise: {columns: [wage], sd: 200}}", quick,
		"quarantine: {jsonl: out/q.jsonl}", "report: {json: out/r.json, html: out/r.html}")
	for _, name := range []string{"r.csv", "r.json", "r.html", "r.public.json", "q.jsonl"} {
		for _, kind := range []string{"link", "second name", "pipe"} {
			if err := errors.Join(os.RemoveAll(s.path("out")), s.write("victim", "precious")); err != nil {
				return err
			}
			temp := s.path("out/." + name + ".sdlfilter-tmp")
			if err := os.MkdirAll(filepath.Dir(temp), 0o755); err != nil {
				return err
			}
			var err error
			switch kind {
			case "link":
				err = os.Symlink(s.path("victim"), temp)
			case "second name":
				err = os.Link(s.path("victim"), temp)
			default:
				err = syscall.Mkfifo(temp, 0o666)
			}
			if err != nil {
				return err
			}
			if _, _, err := s.release(config, 1); err != nil {
				s.gained(1, "a %s under the temporary name of %s was used", kind, name)
			}
			if text, _ := os.ReadFile(s.path("victim")); string(text) != "precious" {
				s.gained(1, "%s under the temporary name of %s: the other file was overwritten", kind, name)
			}
		}
	}
	return nil
}

func devices(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(200), serial); err != nil {
		return err
	}
	null, pipe := s.path("zero"), s.path("pipe")
	if err := errors.Join(os.Symlink("/dev/null", null), syscall.Mkfifo(pipe, 0o600)); err != nil {
		return err
	}
	read := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- text
	}()
	if _, _, err := s.release(pipeline("in.csv", "zero", "{noise: {columns: [wage], sd: 200}}", quick), 0, 1); err != nil {
		return err
	}
	status, _, err := s.release(pipeline("in.csv", "pipe", "{noise: {columns: [wage], sd: 200}}", quick), 0, 1)
	if err != nil {
		return err
	}
	for path, mode := range map[string]fs.FileMode{null: fs.ModeSymlink, pipe: fs.ModeNamedPipe} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != mode {
			s.gained(1, "%s was replaced by a file", filepath.Base(path))
		}
	}
	if status == 0 {
		select {
		case text := <-read:
			if n := bytes.Count(text, []byte("\n")); n != 201 {
				s.gained(1, "the pipe got %d lines", n)
			}
		case <-time.After(10 * time.Second):
			s.gained(1, "whoever reads the pipe waits for ever")
		}
	}
	return nil
}

// killed kills runs of one of two configurations at random and looks for a release
// beside a report that is not its own, and that verify takes for it.
func killed(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(3000), serial); err != nil {
		return err
	}
	r, err := releasesToKill(s)
	if err != nil {
		return err
	}
	torn := 0
	for i := range 60 {
		match, err := r.killedRun(s, i)
		if err != nil {
			return err
		}
		if !match {
			torn++
		}
	}
	s.say("%d of 60 kills left a report beside another release; verify tells each, and repairs it", torn)
	return nil
}

// identified is what of a report tells the configuration it is of.
type identified struct {
	Config string `json:"config_sha256"`
}

// releases are those of two configurations, p0.yaml and p1.yaml, of the same file.
type releases struct {
	text    [2]string
	digests [2]identified
	took    time.Duration // the last of them
}

func releasesToKill(s *scene) (*releases, error) {
	r := &releases{}
	for k := range r.text {
		config := pipeline("in.csv", "out.csv", fmt.Sprintf("{noise: {columns: [wage], sd: %d}}", 200+k),
			"assess: {replicates: 2}", "report: {json: r.json, html: r.html}")
		start := time.Now()
		if _, _, err := s.release(config, 0); err != nil {
			return nil, err
		}
		r.took = time.Since(start)
		text, err := os.ReadFile(s.path("out.csv"))
		if err != nil {
			return nil, err
		}
		r.text[k] = string(text)
		if err := s.report("r.json", &r.digests[k]); err != nil {
			return nil, err
		}
		if err := os.Rename(s.path("pipeline.yaml"), s.path(fmt.Sprintf("p%d.yaml", k))); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// killedRun kills the i-th run near its end, of the two configurations in turn, and reports
// whether what is there then belongs together.
func (r *releases) killedRun(s *scene, i int) (match bool, err error) {
	cmd := exec.Command(s.program, "run", "-q", fmt.Sprintf("p%d.yaml", i%2))
	cmd.Dir = s.dir
	if err := cmd.Start(); err != nil {
		return false, err
	}
	time.Sleep(r.took * time.Duration(70+s.rng.IntN(40)) / 100) // near the end
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	text, err := os.ReadFile(s.path("out.csv"))
	if err != nil {
		return false, err
	}
	if string(text) != r.text[0] && string(text) != r.text[1] {
		s.gained(1, "a file that is no whole release has its name")
	}
	var about identified
	if err := s.report("r.json", &about); err != nil {
		return false, err
	}
	k := 0
	if about == r.digests[1] {
		k = 1
	}
	status, _, err := s.filter(nil, "verify", "r.json")
	if err != nil {
		return false, err
	}
	match = string(text) == r.text[k]
	if (status == 0) != match {
		s.gained(1, "verify says %d of a report and a release that belong together: %v", status, match)
	}
	return match, r.repaired(s, string(text))
}

// repaired gives the report that a killed run has left its name, and looks whether it is then that of the release.
func (r *releases) repaired(s *scene, release string) error {
	status, _, err := s.filter(nil, "verify", "--repair", "r.json")
	if err != nil {
		return err
	}
	var about identified
	if err := s.report("r.json", &about); err != nil {
		return err
	}
	if k := slices.Index(r.text[:], release); status != 0 || k < 0 || about != r.digests[k] {
		s.gained(1, "verify --repair says %d, and the report is not that of the release", status)
	}
	return nil
}

func loosened(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(200), serial); err != nil {
		return err
	}
	if err := s.write("pipeline.yaml", pipeline("in.csv", "out.csv", "{noise: {columns: [wage], sd: 20}}", quick,
		"gate: {rules: [{column: wage, target: typical, knowledge: index, min_rmse: 100}]}")); err != nil {
		return err
	}
	for _, set := range []string{
		"columns.id.role=other", "columns.id.role=key", "gate.rules.0.min_rmse=1", "gate.rules.0.knowledge=mean",
		"masks.0.noise.sd=1",
		"gate.rules.0.target=max", "masks.0.noise.columns.0=kind", "unlisted=drop", "key.file=other",
		"gate.allow_unchanged=1", "columns.wage.unmasked=true",
	} {
		name, value, _ := strings.Cut(set, "=")
		variable := "SDLFILTER_" + strings.ToUpper(strings.ReplaceAll(name, ".", "__")) + "=" + value
		for _, try := range []struct{ env, args []string }{
			{[]string{variable}, []string{"run", "pipeline.yaml"}},
			{nil, []string{"run", "pipeline.yaml", "--set", set}},
		} {
			status, printed, err := s.filter(try.env, try.args...)
			if err != nil {
				return err
			}
			if status == 0 || status == 3 {
				s.gained(1, "%s released: %s", set, strings.TrimSpace(printed))
			}
			if _, err := os.Stat(s.path("out.csv")); err == nil {
				s.gained(1, "%s: a release is there", set)
				if err := os.Remove(s.path("out.csv")); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func preview(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(records), serial); err != nil {
		return err
	}
	if _, _, err := s.release(
		pipeline("in.csv", "out.csv", "{noise: {columns: [wage], sd: 20}}", quick, "report: {json: r.json}",
			"gate: {rules: [{column: wage, target: typical, knowledge: index, min_rmse: 100}]}"), 4); err != nil {
		return err
	}
	_, printed, err := s.filter(nil, "preview", "--rows", "30000", "pipeline.yaml")
	if err != nil {
		return err
	}
	rows := 0
	for line := range strings.Lines(printed) {
		if f := strings.Fields(line); len(f) == 2 && len(f[1]) == 1 {
			rows++
		}
	}
	if rows == 0 {
		return fmt.Errorf("no row was shown:\n%s", printed)
	}
	s.gained(max(0, rows-100), "%d masked rows of a release that the gate has refused", rows)
	return nil
}
