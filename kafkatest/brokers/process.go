package brokers

import "syscall"

// processAttributes gives a broker a process group of its own, so that a Ctrl-C
// at the terminal reaches only us and we end it, and has the system end it when
// we are gone without having done so.
func processAttributes(detach bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if !detach {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
