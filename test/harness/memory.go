package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Resident returns how many bytes a process has in RAM, and the most that it has had. It works on Linux.
func Resident(pid int) (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read what a process takes: %w", err)
	}
	for name, value := range map[string]*int64{"\nVmRSS:": &now, "\nVmHWM:": &most} {
		_, rest, _ := strings.Cut(string(status), name)
		if _, err := fmt.Sscan(rest, value); err != nil {
			return 0, 0, fmt.Errorf("read %q of process %d: %w", name, pid, err)
		}
		*value <<= 10 // from KiB
	}
	return now, most, nil
}

// Memory calls visit with each part of the process's memory that it can write to:
// heap, stacks and variables. A part is only valid during the call. It works on
// Linux.
func (c *Controller) Memory(visit func(part []byte)) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.PID()))
	if err != nil {
		return fmt.Errorf("read the layout of memory: %w", err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.PID()))
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "rw") {
			continue
		}
		part, err := readRange(memory, fields[0])
		if err != nil {
			return fmt.Errorf("read memory at %s: %w", fields[0], err)
		}
		visit(part)
	}
	return nil
}

// readRange reads a range of addresses as it is written in the layout. One that is
// gone by now is empty.
func readRange(memory io.ReaderAt, addresses string) ([]byte, error) {
	first, last, _ := strings.Cut(addresses, "-")
	begin, err := strconv.ParseInt(first, 16, 64)
	if err != nil {
		return nil, err
	}
	end, err := strconv.ParseInt(last, 16, 64)
	if err != nil {
		return nil, err
	}
	part := make([]byte, end-begin)
	n, err := memory.ReadAt(part, begin)
	if n < len(part) && !errors.Is(err, os.ErrPermission) {
		return part[:n], nil
	}
	return part[:n], err
}
