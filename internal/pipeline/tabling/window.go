package tabling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// WindowSchema is the version of the file format of Window.
const WindowSchema = "sdlfilter-window/1"

// Window describes the offsets of a window of topics, and how it ended. It is confidential: its
// offsets tell how many records each partition had.
type Window struct {
	Schema       string `json:"schema"`
	Number       int    `json:"number"` // from 1
	ConfigSHA256 string `json:"config_sha256"`
	Withheld     bool   `json:"withheld"`
	Empty        bool   `json:"empty"`           // its offsets hold no records, and it has no tables
	Until        string `json:"until,omitempty"` // of a window by time: its end, RFC 3339
	// offsets before the window that retention removed before they were tabulated
	Deleted   int64     `json:"deleted"`
	Stretches []Stretch `json:"stretches"`
}

// Stretch is the part of a window in one partition.
type Stretch struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id,omitempty"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	End       int64  `json:"end"` // the offset after the last
}

func (s Stretch) of() connectors.Partition {
	return connectors.Partition{Topic: s.Topic, Number: s.Partition}
}

// End returns when a window by time ends; the zero time for another window. It is an error if Until is no time.
func (w *Window) End() (time.Time, error) {
	if w.Until == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, w.Until)
}

func (w *Window) spans() []connectors.Span {
	list := make([]connectors.Span, len(w.Stretches))
	for i, s := range w.Stretches {
		list[i] = connectors.Span{Partition: s.of(), From: s.From, End: s.End}
	}
	return list
}

// path returns the folder of a window below the folder of all windows.
func (w *Window) path(folder string) string {
	name := fmt.Sprintf("window-%06d", w.Number)
	switch {
	case w.Withheld:
		name += ".withheld"
	case w.Empty:
		name += ".empty"
	}
	return filepath.Join(folder, name)
}

var windowName = regexp.MustCompile(`^window-([0-9]{6,})(\.withheld|\.empty)?$`)

// planOf returns the path of the plan: the file that describes the next window.
func planOf(folder string) string { return filepath.Join(folder, ".next.json") }

// hiddenOf returns the folder in which a window is made.
func hiddenOf(folder string) string { return filepath.Join(folder, ".making") }

// clearHidden creates the folder empty, and removes what a killed run has left there.
func clearHidden(hidden string) error {
	switch info, err := os.Lstat(hidden); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if st, known := info.Sys().(*syscall.Stat_t); !info.IsDir() || known && int64(st.Uid) != int64(os.Geteuid()) {
			return fmt.Errorf("%s: is not the folder that a run of this user has left; look at it and remove it", hidden)
		}
		if err := os.RemoveAll(hidden); err != nil {
			return err
		}
	}
	return os.Mkdir(hidden, 0o700)
}

// write writes the window as a file that only its owner can read.
func (w *Window) write(path string) error {
	text, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	return publish.WriteFile(path, publish.Confidential, append(text, '\n'))
}

// readWindow reads what write has written.
func readWindow(path string) (*Window, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w := new(Window)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(w); err != nil {
		return nil, fmt.Errorf("%s: does not say what a window is made of: %w", path, err)
	}
	if w.Schema != WindowSchema || w.Number < 1 || len(w.Stretches) == 0 {
		return nil, fmt.Errorf("%s: must be of the format %s, got %q", path, WindowSchema, w.Schema)
	}
	if _, err := w.End(); err != nil {
		return nil, fmt.Errorf("%s: does not say when the window ends: %w", path, err)
	}
	seen := map[connectors.Partition]bool{}
	for _, s := range w.Stretches {
		if seen[s.of()] || s.From < 0 || s.End < s.From {
			return nil, fmt.Errorf("%s: the stretch of %s is twice there, or ends before it begins", path, s.of())
		}
		seen[s.of()] = true
	}
	return w, nil
}

// lastWindow returns the window with the greatest number in a folder; nil if there is none.
func lastWindow(folder string) (*Window, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	last, name := 0, ""
	for _, e := range entries {
		m := windowName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		case n == last:
			return nil, fmt.Errorf("%s: has the number of %s", filepath.Join(folder, e.Name()), name)
		case n > last:
			last, name = n, e.Name()
		}
	}
	if last == 0 {
		return nil, nil
	}
	path := filepath.Join(folder, name, tabulation.WindowFile)
	w, err := readWindow(path)
	if err != nil {
		return nil, err
	}
	if w.path(folder) != filepath.Join(folder, name) {
		return nil, fmt.Errorf("%s: is that of window %d", path, w.Number)
	}
	return w, nil
}
