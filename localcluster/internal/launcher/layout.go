package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// defaultDirectory is where a cluster lives unless --dir says otherwise, relative to the working directory.
const defaultDirectory = ".localcluster"

// Layout names the files in a cluster's directory.
type Layout struct {
	Dir string // absolute
}

func newLayout(dir string) (Layout, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Layout{}, fmt.Errorf("resolve directory %s: %w", dir, err)
	}
	return Layout{Dir: absolute}, nil
}

// lockFile also marks a directory as a cluster's: nothing is ever removed from a directory that lacks it.
func (l Layout) lockFile() string { return l.path("localcluster.lock") }

func (l Layout) kubeconfig() string              { return l.path("kubeconfig") }
func (l Layout) socket() string                  { return l.path("control.sock") }
func (l Layout) etcdData() string                { return l.path("etcd") }
func (l Layout) caCert() string                  { return l.path("pki", "ca.crt") }
func (l Layout) servingCert() string             { return l.path("pki", "serving.crt") }
func (l Layout) servingKey() string              { return l.path("pki", "serving.key") }
func (l Layout) serviceAccountKey() string       { return l.path("pki", "sa.key") }
func (l Layout) serviceAccountPublicKey() string { return l.path("pki", "sa.pub") }
func (l Layout) tokenFile() string               { return l.path("config", "tokens.csv") }
func (l Layout) schedulerConfig() string         { return l.path("config", "kube-scheduler.yaml") }
func (l Layout) kwokStages() string              { return l.path("config", "kwok-stages.yaml") }
func (l Layout) kwokHome() string                { return l.path("config", "kwok") }
func (l Layout) log(component string) string     { return l.path("logs", component+".log") }

// componentKubeconfig is not the user's kubeconfig, which `kubectl config` may change while components rely on theirs.
func (l Layout) componentKubeconfig(component string) string {
	return l.path("config", component+".kubeconfig")
}

func (l Layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.Dir}, elements...)...)
}

// claim makes the directory this process's own: created where missing, locked, and emptied of what an earlier cluster
// left. It returns the lock, which lasts until the file is closed here and in every process that inherited it, and
// whether there was something to remove.
func (l Layout) claim() (lock *os.File, removed bool, err error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("create directory of the cluster: %w", err)
	}
	if err := l.refuseForeign(); err != nil {
		return nil, false, err
	}
	lock, err = l.lock()
	if err != nil {
		return nil, false, err
	}
	removed, err = l.reset()
	if err != nil {
		return nil, false, errors.Join(err, lock.Close())
	}
	return lock, removed, nil
}

// refuseForeign keeps `up --dir /etc` from doing harm: only an empty directory, or one that a cluster lived in, will do.
func (l Layout) refuseForeign() error {
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return fmt.Errorf("read directory of the cluster: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	_, err = os.Stat(l.lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s is not empty and no cluster ever lived in it: choose another --dir", l.Dir)
	}
	if err != nil {
		return fmt.Errorf("inspect directory of the cluster: %w", err)
	}
	return nil
}

// reset leaves a directory with nothing but the lock and empty folders.
func (l Layout) reset() (removed bool, err error) {
	for _, name := range []string{"etcd", "pki", "config", "logs", "kubeconfig", "control.sock"} {
		if _, err := os.Lstat(l.path(name)); err == nil {
			removed = true
		}
		if err := os.RemoveAll(l.path(name)); err != nil {
			return false, fmt.Errorf("remove state of an earlier cluster: %w", err)
		}
	}
	for _, name := range []string{"pki", "config", "logs", "etcd", "config/kwok"} {
		if err := os.Mkdir(l.path(name), 0o700); err != nil {
			return false, fmt.Errorf("create folder of the cluster: %w", err)
		}
	}
	return removed, nil
}
