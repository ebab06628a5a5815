package launcher

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binaryVariable names the localcluster binary to test. Without it the tests build one, unless they are -short.
const binaryVariable = "LOCALCLUSTER_BINARY"

const startPatience = 8 * time.Minute

func TestAClusterRunsPodsAndSurvivesTheDeathOfItsComponents(t *testing.T) {
	binary := findBinary(t)
	c := startCluster(t, binary, "--nodes=2")

	if got := c.kubectl("get", "nodes", "-o", "name"); got != "node/node-1\nnode/node-2\n" {
		t.Errorf("nodes: %q", got)
	}
	c.kubectl("create", "deployment", "web", "--image=example", "--replicas=4")
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	started := c.kubectl("get", "pods", "-o", "jsonpath={range .items[*]}{.status.startTime} {.status.containerStatuses[0].state.running.startedAt}{'\\n'}{end}")
	for line := range strings.Lines(started) {
		if len(strings.Fields(line)) != 2 {
			t.Errorf("a pod lacks the time of its start: %q", line)
		}
	}
	if token := c.kubectl("create", "token", "default"); strings.Count(token, ".") != 2 {
		t.Errorf("no token: %q", token)
	}

	before := c.run("status", "--dir", c.dir)
	for _, component := range allComponents {
		c.run("kill", "--dir", c.dir, component)
		if out, err := exec.Command(binary, "status", "--dir", c.dir).CombinedOutput(); err == nil {
			t.Errorf("status succeeds although %s is killed:\n%s", component, out)
		}
		c.run("start", "--dir", c.dir, component)
		c.kubectl("set", "image", "deployment/web", "example=example:after-"+component)
		c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	}
	if after := c.run("status", "--dir", c.dir); column(after, 3) != column(before, 3) {
		t.Errorf("addresses changed from\n%s\nto\n%s", before, after)
	}
	c.run("down", "--dir", c.dir)
}

func TestTheDeploymentControllerCanBeLeftOut(t *testing.T) {
	c := startCluster(t, findBinary(t), "--without-deployment-controller")
	c.kubectl("create", "deployment", "web", "--image=example")
	// A ReplicaSet and its pods show that the controllers run; only then is the absence of the other one a finding.
	c.kubectl("apply", "-f", "testdata/replicaset.yaml")
	c.kubectl("wait", "--for=jsonpath={.status.readyReplicas}=1", "replicaset/other", "--timeout=60s")
	if got := c.kubectl("get", "replicasets", "-o", "name"); got != "replicaset.apps/other\n" {
		t.Errorf("replica sets: %q", got)
	}
}

func TestNothingOutlivesAKilledLauncher(t *testing.T) {
	c := startCluster(t, findBinary(t), "--components=etcd,kube-apiserver")
	if err := c.up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all components are gone", func() bool {
		free, err := Layout{c.dir}.free()
		return free && err == nil
	})
}

func TestUpLeavesNothingBehindWhenAComponentDiesAtItsStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	up := exec.Command(findBinary(t), "up", "--dir", dir, "--kube-apiserver-flag=--no-such-flag")
	var stderr bytes.Buffer
	up.Stderr = &stderr
	err := up.Run()
	if up.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "unknown flag: --no-such-flag") {
		t.Errorf("%v, %s", err, stderr.String())
	}
	if free, err := (Layout{dir}).free(); !free || err != nil {
		t.Errorf("free=%t, %v", free, err)
	}
}

// testCluster is a cluster that the real binary runs.
type testCluster struct {
	t           *testing.T
	binary, dir string
	up          *exec.Cmd
}

func findBinary(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv(binaryVariable); binary != "" {
		return binary
	}
	if testing.Short() {
		t.Skip("needs a binary: set " + binaryVariable + ", or leave out -short")
	}
	binary := filepath.Join(t.TempDir(), "localcluster")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// startCluster returns when the cluster is ready. It is stopped at the end of the test.
func startCluster(t *testing.T, binary string, flags ...string) *testCluster {
	t.Helper()
	c := &testCluster{t: t, binary: binary, dir: filepath.Join(t.TempDir(), "cluster")}
	c.up = exec.Command(binary, append([]string{"up", "--dir", c.dir}, flags...)...)
	var stderr bytes.Buffer
	c.up.Stderr = &stderr
	stdout, err := c.up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.up.Process.Signal(os.Interrupt) // it may have ended long ago
		_ = c.up.Wait()
	})
	impatient := time.AfterFunc(startPatience, func() { _ = c.up.Process.Kill() })
	defer impatient.Stop()
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "the cluster is ready") {
			return c
		}
	}
	t.Fatalf("the cluster did not become ready: %s", stderr.String())
	return nil
}

func (c *testCluster) run(arguments ...string) string {
	c.t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(c.binary, arguments...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		c.t.Fatalf("%q: %v\n%s%s", arguments, err, out, stderr.String())
	}
	return string(out)
}

func (c *testCluster) kubectl(arguments ...string) string {
	c.t.Helper()
	return c.run(append([]string{"kubectl", "--kubeconfig", filepath.Join(c.dir, "kubeconfig")}, arguments...)...)
}

// column returns one column of a table, counted from 0.
func column(table string, number int) string {
	var cells []string
	for line := range strings.Lines(table) {
		cells = append(cells, strings.Fields(line)[number])
	}
	return strings.Join(cells, " ")
}
