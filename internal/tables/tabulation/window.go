package tabulation

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// WindowFile is the file in the folder of a window that says what the window is made of.
const WindowFile = "window.json"

// TableWindow says how the records of topics are divided into windows, each of which has tables of
// its own.
type TableWindow struct {
	Records  int             `yaml:"records" doc:"the size of a window in offsets of the topics, over all partitions; an offset without a record (a transaction marker) counts"`
	Every    config.Duration `yaml:"every" doc:"instead of records, the length of a window in time: windows end at multiples of this length since 1970-01-01 00:00 UTC, by the timestamps of the records"`
	Lateness config.Duration `yaml:"lateness" doc:"with every, how long after its end a window waits for late records; records that come even later are counted in the next window; 1m by default"`
	Folder   string          `yaml:"folder" required:"true" doc:"the folder of the windows: each window gets a folder in it, such as window-000001, with all files of its tables. The folder also records which records have been counted: use another folder for other topics, and do not remove the last window"`
}

// InFolder returns the configuration with all files of the tables in another folder. Its SHA256 is that
// of t.
func (t *Config) InFolder(dir string) *Config {
	other := *t
	other.digest = t.SHA256()
	if placed := config.Sink(t.Sink).Abilities().Placed; placed != nil {
		other.Sink.Config = placed.At(filepath.Join(dir, t.Sink.Config.Paths()[0]))
	}
	for _, path := range []*string{&other.Report.JSON, &other.Report.HTML, &other.Report.Cells, &other.Report.JJ} {
		if *path != "" {
			*path = filepath.Join(dir, *path)
		}
	}
	return &other
}

// validateWindow judges windows of topics.
func (l *loader) validateWindow(t *Config) {
	w := t.Window
	if w == nil {
		return
	}
	if l.Given("source") {
		l.Wrong("window",
			"needs pipeline instead of source: the configuration of a pipeline that reads topics and lists their columns")
	}
	l.validateWindowSize(w)
	switch {
	case !l.Given("window.folder") || !l.Sound("window.folder"):
	case w.Folder == "" || w.Folder == "-" || objectpath.Is(w.Folder):
		l.Wrong("window.folder", "must be a folder of this machine, got %q: windows appear in it by renaming", w.Folder)
	default:
		l.Path("window.folder", w.Folder)
	}
	for i := range t.Tables {
		if t.Tables[i].Protect.Sample != nil {
			l.Wrong(fmt.Sprintf("tables[%d].protect.sample", i),
				"must be another method for windows: everybody knows how many records a window has, and what this discloses about counts together with a sample is not audited")
		}
	}
	if t.Sink.Config != nil && t.Sink.Kind != "kafka" {
		at := form.Join("sink", t.Sink.Kind)
		switch paths := t.Sink.Config.Paths(); {
		case config.Sink(t.Sink).Abilities().Placed == nil || len(paths) != 1:
			l.Wrong(at, "must be a file (csv, parquet, jsonl, xlsx), which lies in the folder of its window")
		default:
			l.windowFile(at+".path", paths[0])
		}
	}
	l.windowFile("report.json", t.Report.JSON)
	l.windowFile("report.html", t.Report.HTML)
	l.windowFile("report.cells", t.Report.Cells)
	l.windowFile("report.jj", t.Report.JJ)
}

// defaultLateness is how long a window waits for records that come late.
const defaultLateness = config.Duration(time.Minute)

// validateWindowSize demands one of records and every.
func (l *loader) validateWindowSize(w *TableWindow) {
	records, every := l.Given("window.records"), l.Given("window.every")
	switch {
	case !l.Known("window") || l.Misspelt("window", "records") || l.Misspelt("window", "every"):
	case records && every:
		l.Wrong("window.every",
			"must be left out if records is given: the size of a window is either a number of records or a length of time")
	case !records && !every:
		l.Wrong("window", "must have records or every, which say when a window is complete")
	}
	if w.Records < 1 && records && l.Sound("window.records") {
		l.Wrong("window.records", "must be at least 1, got %d", w.Records)
	}
	if every && l.Sound("window.every") &&
		(w.Every < config.Duration(time.Second) || w.Every%config.Duration(time.Second) != 0) {
		l.Wrong("window.every", "must be whole seconds, at least 1s, got %v", time.Duration(w.Every))
	}
	switch late := l.Given("window.lateness"); {
	case late && !every && l.Sound("window.every"):
		l.Wrong("window.lateness", "needs every: a window with a fixed number of records does not wait for late ones")
	case every && !late:
		w.Lateness = defaultLateness
	}
}

// windowFile demands a name without a folder.
func (l *loader) windowFile(field, file string) {
	switch {
	case file == "" || !l.Sound(field):
	case file == "-" || file == "stdout" || objectpath.Is(file) || filepath.Base(file) != file || file[0] == '.':
		l.Wrong(field, "must be the name of a file, without a folder: it lies in the folder of its window; got %q", file)
	case file == WindowFile:
		l.Wrong(field, "must be another name than %s, which says what a window is made of", WindowFile)
	}
}
