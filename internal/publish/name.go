package publish

import (
	"fmt"
	"path/filepath"
)

// NameDir gives a folder, whose files are complete and synced, its final name and the mode of a
// public release. It is an error if something has this name already. The folder has the name after
// a crash, or everything is as before.
func NameDir(temp, path string) error {
	if err := system.chmodName(temp, 0o777&^umask()); err != nil {
		return err
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if _, err := system.lstat(path); err == nil {
		return fmt.Errorf("%s: is there already", path)
	}
	if err := system.rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
