//go:build !linux

package environ

func hasMoreRights() bool { return otherUser() }
