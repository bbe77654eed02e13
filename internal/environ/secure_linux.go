package environ

import "golang.org/x/sys/unix"

// atSecure is the type of the entry of the auxiliary vector. Source: getauxval(3).
const atSecure = 23

// hasMoreRights asks what the system has noted at the start. The user numbers are
// asked too: a host that was loaded with a changed stack has no vector here.
func hasMoreRights() bool {
	vector, _ := unix.Auxv()
	for _, entry := range vector {
		if entry[0] == atSecure && entry[1] != 0 {
			return true
		}
	}
	return otherUser()
}
