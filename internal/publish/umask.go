package publish

import (
	"io/fs"
	"sync"
	"syscall"
)

// umask reads the process's umask once; the only way to read it is to set it.
var umask = sync.OnceValue(func() fs.FileMode {
	m := syscall.Umask(0o077)
	syscall.Umask(m)
	return fs.FileMode(m)
})
