package brokers

import "syscall"

// processAttributes gives a broker a process group of its own, so that a Ctrl-C at the
// terminal reaches only this process, which then ends the broker. Unless detach is true,
// the system ends the broker if this process ends without doing so.
func processAttributes(detach bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if !detach {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
