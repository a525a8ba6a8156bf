package kubelet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// maxEnvFile is the largest file of variables that is read, in bytes.
const maxEnvFile = 1 << 20

// fileValue is the variable of a file in a volume of the pod, which its containers have written. ok is false
// when it is optional and not there, or empty.
func (k *Kubelet) fileValue(pod *corev1.Pod, from *corev1.FileKeySelector) (value string, ok bool, err error) {
	dir, _, err := k.volumeSource(pod, from.VolumeName)
	if err != nil {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", from.VolumeName)
	}
	text, err := readEnvFile(dir, from.Path)
	if err == nil {
		value, err = fileVariable(text, from.Key)
	}
	if err != nil {
		k.log.Info("read file of variables failed", "namespace", pod.Namespace, "name", pod.Name, "volume", from.VolumeName, "err", err)
		return "", false, errors.New("couldn't parse env file")
	}
	if value != "" {
		return value, true, nil
	}
	if from.Optional != nil && *from.Optional {
		return "", false, nil
	}
	return "", false, fmt.Errorf("environment variable key %q not found in file %q", from.Key, filepath.Join(dir, from.Path))
}

// readEnvFile reads a regular file below dir. Containers may have put anything there, such as links to
// elsewhere and pipes.
func readEnvFile(dir, path string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err == nil && len(b) > maxEnvFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxEnvFile)
	}
	return string(b), err
}

// fileVariable is the value of a variable in a file of lines NAME='value', empty if it is not there. A value
// may have several lines; it ends with the next quote. Lines that begin with # and what follows a value after
// # are comments. As in a shell, a blank after = assigns nothing. As kubelet 1.36.3, it does not look behind
// the first line of the name.
func fileVariable(text, key string) (string, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for n := 1; text != ""; n++ {
		text = strings.TrimLeft(text, " \t")
		line, rest, _ := strings.Cut(text, "\n")
		if line == "" || line[0] == '#' {
			text = rest
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return "", fmt.Errorf("line %d has no =", n)
		case strings.Trim(name, " \t") == "":
			return "", fmt.Errorf("line %d has no name", n)
		case strings.ContainsAny(name[len(name)-1:], " \t"):
			return "", fmt.Errorf("line %d has a blank before =", n)
		case strings.HasPrefix(value, " ") || strings.HasPrefix(value, "\t"):
			if name == key {
				return "", nil
			}
			text = rest
			continue
		case !strings.HasPrefix(value, "'"):
			return "", fmt.Errorf("the value in line %d does not begin with a single quote", n)
		}
		value, rest, ok = strings.Cut(text[len(name+"='"):], "'")
		if !ok {
			return "", fmt.Errorf("the value that begins in line %d has no end", n)
		}
		line, text, _ = strings.Cut(rest, "\n")
		if line = strings.TrimLeft(line, " \t"); line != "" && line[0] != '#' {
			return "", fmt.Errorf("after the value that begins in line %d there is something else", n)
		}
		if name == key {
			return value, nil
		}
		n += strings.Count(value, "\n")
	}
	return "", nil
}
