//go:build unix && !linux

package harness

import "syscall"

// Only Linux notifies a child that its parent was killed.
func childAttributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
