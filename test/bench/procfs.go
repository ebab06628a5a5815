package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"kubernetes-deployment-restart-controller/test/harness"
)

// clockTicks is the kernel's USER_HZ, the unit of times in /proc: 100 on every
// architecture that Kubernetes runs on.
const clockTicks = 100

// memory is what a process has in RAM, in MiB.
type memory struct{ resident, peak float64 }

// memoryOf reads the resident memory of a process and its greatest value so far.
func memoryOf(pid int) (memory, error) {
	now, most, err := harness.Resident(pid)
	return memory{float64(now) / (1 << 20), float64(most) / (1 << 20)}, err
}

// cpuSecondsOf reads the user and system time that a process has used.
func cpuSecondsOf(pid int) (float64, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	// The second field, the name in parentheses, may hold spaces. Of what follows
	// it, utime and stime are the 12th and 13th.
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: %s has %d fields after the name", path, len(fields))
	}
	ticks := 0
	for _, field := range fields[11:13] {
		value, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += value
	}
	return float64(ticks) / clockTicks, nil
}
