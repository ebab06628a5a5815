package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	pollInterval = 50 * time.Millisecond

	// orphanGrace is how long the components of a killed `up` may take to notice and end: parentPollInterval, and
	// what a busy machine adds to it.
	orphanGrace = 30 * time.Second
)

// lock takes the directory's lock. If nobody answers at the socket, the holders are the components of a killed `up`,
// which are about to end; they are waited for.
func (l Layout) lock() (*os.File, error) {
	file, err := os.OpenFile(l.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of the cluster: %w", err)
	}
	err = wait.PollUntilContextTimeout(context.Background(), pollInterval, orphanGrace, true,
		func(context.Context) (bool, error) {
			err := flock(file)
			if errors.Is(err, syscall.EWOULDBLOCK) && !answers(l) {
				return false, nil
			}
			return err == nil, err
		})
	switch {
	case err == nil:
		return file, nil
	case errors.Is(err, syscall.EWOULDBLOCK), wait.Interrupted(err):
		err = fmt.Errorf("directory %s is in use by another cluster: stop that one (localcluster down --dir %s) or choose another --dir", l.Dir, l.Dir)
	default:
		err = fmt.Errorf("lock %s: %w", l.lockFile(), err)
	}
	return nil, errors.Join(err, file.Close())
}

// free reports whether no process of a cluster is left in the directory.
func (l Layout) free() (bool, error) {
	file, err := os.OpenFile(l.lockFile(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock of the cluster: %w", err)
	}
	defer file.Close()
	err = flock(file)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
