package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ioErrors is how many disks fail: go test -run IOError -io-errors 60.
var ioErrors = flag.Int("io-errors", 12, "how many disks fail below a file system")

// disk is an ext4 on a loop device whose file lies in a folder with too little room: what does not fit there is an I/O
// error of the device, which the file system learns late, when it writes back what it has taken.
type disk struct {
	t          *testing.T
	dir        string
	back, root string
}

func (d *disk) command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// newDisk makes a disk of 64 MB that has room for so many KB.
func newDisk(t *testing.T, room int) *disk {
	t.Helper()
	dir := t.TempDir()
	d := &disk{t: t, dir: dir, back: filepath.Join(dir, "back"), root: filepath.Join(dir, "root")}
	if err := errors.Join(os.Mkdir(d.back, 0o700), os.Mkdir(d.root, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := d.command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk", room), "none", d.back); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = d.command("umount", d.root); _ = d.command("umount", d.back) })
	image := filepath.Join(d.back, "image")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 64<<20)
	}
	if err == nil {
		err = d.command("mkfs.ext4", "-q", "-F", image)
	}
	if err == nil {
		err = d.command("mount", "-o", "loop", image, d.root)
	}
	if err != nil {
		t.Skip(err)
	}
	return d
}

// mended gives the disk room and mounts it anew, as after a crash of the machine.
func (d *disk) mended() {
	d.t.Helper()
	if err := errors.Join(d.command("umount", d.root), d.command("mount", "-o", "remount,size=200m", d.back)); err != nil {
		d.t.Fatal(err)
	}
	image := filepath.Join(d.back, "image")
	_ = d.command("e2fsck", "-y", "-f", image) // 1: it has mended something
	if err := d.command("mount", "-o", "loop", image, d.root); err != nil {
		d.t.Fatal(err)
	}
}

// Disks fail below the file system at every stage of a run. With status 0 the release and its report are there, also
// after the file system was mounted anew; with 1 there is no release, with 5 one without its report; and once the disk
// has room the same run gives the same release.
func TestIOErrorBelowTheFileSystem(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("mounts loop devices")
	}
	dir := t.TempDir()
	killPipeline(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, dir, "run", "-q", "pipeline.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	release, err := os.ReadFile(filepath.Join(dir, "out", "release.csv"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for n := range *ioErrors {
		room := 600 + n*3400 / *ioErrors
		d := newDisk(t, room)
		if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"),
			[]byte(strings.NewReplacer("out/", d.root+"/", "ledger: releases\n", "").Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		run := func() (int, string) {
			out, err := program(t, dir, "run", "-q", "pipeline.yaml").CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if err == nil {
				return 0, string(out)
			}
			return exit.ExitCode(), string(out)
		}
		status, words := run()
		there := func(when string) (released bool) {
			got, err := os.ReadFile(filepath.Join(d.root, "release.csv"))
			_, unreported := os.Stat(filepath.Join(d.root, "report.json"))
			what := fmt.Sprintf("%d KB, %s: status %d, a release of %d bytes (%v), a report (%v)\n%s", room, when, status,
				len(got), err, unreported, words)
			switch {
			case err == nil && string(got) != string(release):
				t.Errorf("%sthe release is not whole", what)
			// a file system with errors may not let itself be read
			case err != nil && !errors.Is(err, fs.ErrNotExist) && when != "at once":
				t.Error(what)
			case status == 0 && (err != nil || unreported != nil), status == exitFailed && err == nil,
				status == exitUnreported && err != nil:
				t.Error(what)
			case status != 0 && status != exitFailed && status != exitUnreported:
				t.Error(what)
			}
			return err == nil
		}
		now := there("at once")
		d.mended()
		then := there("mounted anew")
		seen[fmt.Sprintf("status %d, there %v, mounted anew %v", status, now, then)]++
		if status, words := run(); status != 0 {
			t.Errorf("%d KB, with room: status %d\n%s", room, status, words)
		}
		if got, err := os.ReadFile(filepath.Join(d.root, "release.csv")); err != nil || string(got) != string(release) {
			t.Errorf("%d KB, with room: another release (%v)", room, err)
		}
		if err := errors.Join(d.command("umount", d.root), d.command("umount", d.back)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d disks: %v", *ioErrors, seen)
	if len(seen) < 2 {
		t.Errorf("%v", seen)
	}
}
