package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func keygenCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a fresh secret key: base64, to a file with mode 0600 or to stdout",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key := keystream.Generate()
			if out == "" || out == "-" {
				_, err := fmt.Fprintln(os.Stdout, key.Text())
				return err
			}
			return writeKey(out, key)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file to write; one that exists is never overwritten")
	return cmd
}

// writeKey writes a key to a file that must not exist yet: a key that is lost
// cannot be made again.
func writeKey(path string, key keystream.Key) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("%s exists and is left as it is; releases made with a key need it again", path)}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, key.Text())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	fmt.Fprintf(os.Stderr, "wrote %s (key %s)\n", path, key.ID())
	return nil
}
