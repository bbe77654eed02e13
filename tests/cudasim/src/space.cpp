#include "space.h"

#include "threads.h"

#include <algorithm>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace cudasim {

Granule *granules;

static std::map<uint64_t, uint64_t> taken; // base -> bytes with the guard, ordered by address

static bool map_at(uint64_t base, uint64_t bytes, int protection, int extra, int fd, uint64_t offset) {
    void *p = mmap(reinterpret_cast<void *>(base), bytes, protection, extra, fd, off_t(offset));
    return p == reinterpret_cast<void *>(base);
}

bool open_space() {
    constexpr int fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (!map_at(space_base, space_bytes, PROT_NONE, fresh, -1, 0) ||
        !map_at(written_base, space_bytes / 8, PROT_READ | PROT_WRITE, fresh, -1, 0) ||
        !map_at(cells_base, space_bytes / cell_bytes * sizeof(Cell), PROT_READ | PROT_WRITE, fresh, -1, 0) ||
        !map_at(touches_base, space_bytes / 4 * sizeof(WordTouches), PROT_READ | PROT_WRITE, fresh, -1, 0))
        return false;
    void *table = mmap(nullptr, granule_count * sizeof(Granule), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    granules = static_cast<Granule *>(table);
    return table != MAP_FAILED;
}

static uint64_t round_up(uint64_t v, uint64_t unit) {
    return (v + unit - 1) / unit * unit;
}

uint64_t take_addresses(uint64_t bytes, uint64_t align) {
    if (bytes > space_bytes)
        return 0;
    align = std::max(align, granule_bytes);
    uint64_t need = round_up(bytes, granule_bytes) + granule_bytes;
    uint64_t at = space_base;
    for (auto &[base, length] : taken) {
        if (round_up(at, align) + need <= base)
            break;
        at = base + length;
    }
    at = round_up(at, align);
    if (at + need > space_base + space_bytes)
        return 0;
    taken[at] = need;
    return at;
}

void return_addresses(uint64_t base) {
    taken.erase(base);
}

bool create_physical(Physical &p, uint64_t bytes) {
    p.bytes = bytes;
    p.data = memfd_create("cudasim-data", MFD_CLOEXEC);
    p.written = memfd_create("cudasim-written", MFD_CLOEXEC);
    if (p.data >= 0 && p.written >= 0 && ftruncate(p.data, off_t(bytes)) == 0 &&
        ftruncate(p.written, off_t(bytes / 8)) == 0)
        return true;
    destroy_physical(p);
    return false;
}

void destroy_physical(Physical &p) {
    if (p.data >= 0)
        close(p.data);
    if (p.written >= 0)
        close(p.written);
    p = Physical{};
}

void map_physical(uint64_t base, uint64_t bytes, uint64_t offset, const Physical *p) {
    constexpr int here = MAP_FIXED | MAP_NORESERVE;
    uint64_t shadow = written_base + (base - space_base) / 8;
    if (p == nullptr) {
        map_at(base, bytes, PROT_READ | PROT_WRITE, here | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return;
    }
    map_at(base, bytes, PROT_READ | PROT_WRITE, here | MAP_SHARED, p->data, offset);
    map_at(shadow, bytes / 8, PROT_READ | PROT_WRITE, here | MAP_SHARED, p->written, offset / 8);
}

void unmap_physical(uint64_t base, uint64_t bytes) {
    constexpr int empty = MAP_FIXED | MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS;
    map_at(base, bytes, PROT_NONE, empty, -1, 0);
    map_at(written_base + (base - space_base) / 8, bytes / 8, PROT_READ | PROT_WRITE, empty, -1, 0);
    madvise(cell_of(base), bytes / cell_bytes * sizeof(Cell), MADV_DONTNEED);
    madvise(reinterpret_cast<void *>(touches_base + (base - space_base) / 4 * sizeof(WordTouches)),
            bytes / 4 * sizeof(WordTouches), MADV_DONTNEED);
    for (uint64_t a = base; a < base + bytes; a += granule_bytes)
        granule_of(a) = Granule{};
}

void allow(uint64_t base, uint64_t bytes, uint32_t devices) {
    for (uint64_t a = base; a < base + bytes; a += granule_bytes)
        granule_of(a) = Granule{0, uint32_t(std::min(granule_bytes, base + bytes - a)), devices};
}

void mark_written(uint64_t base, uint64_t bytes, bool written) {
    uint64_t a = base, end = base + bytes;
    auto bit = [&](uint64_t at) {
        uint8_t mask = uint8_t(1u << (at & 7));
        uint8_t *byte = written_of(at);
        *byte = written ? *byte | mask : *byte & uint8_t(~mask);
    };
    for (; a < end && (a & 7); a++)
        bit(a);
    if (uint64_t whole = (end - a) / 8 * 8; a < end && whole > 0) {
        std::fill_n(written_of(a), whole / 8, uint8_t(written ? 0xff : 0));
        a += whole;
    }
    for (; a < end; a++)
        bit(a);
}

uint64_t first_unwritten(uint64_t base, uint64_t bytes) {
    for (uint64_t a = base; a < base + bytes;) {
        uint8_t shadow = *written_of(a);
        if ((a & 7) == 0 && shadow == 0xff && a + 8 <= base + bytes) {
            a += 8;
            continue;
        }
        if (!(shadow >> (a & 7) & 1))
            return a;
        a++;
    }
    return base + bytes;
}

bool reachable(uint64_t base, uint64_t bytes, uint32_t devices) {
    if (!in_space(base) || bytes > space_bytes || !in_space(base + bytes - (bytes > 0)))
        return false;
    for (uint64_t a = base; a < base + bytes;) {
        const Granule &g = granule_of(a);
        uint64_t start = a / granule_bytes * granule_bytes;
        uint64_t end = std::min(base + bytes, start + granule_bytes);
        if (!(g.devices & devices) || a - start < g.lo || end - start > g.hi)
            return false;
        a = end;
    }
    return true;
}

} // namespace cudasim
