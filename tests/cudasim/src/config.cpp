#include "config.h"

#include <cstdlib>
#include <map>
#include <sstream>

namespace cudasim {

static bool number(const std::string &text, int64_t &value) {
    char *end = nullptr;
    value = std::strtoll(text.c_str(), &end, 0);
    return !text.empty() && *end == 0;
}

static std::string parse_fault(std::istringstream &words, Fault &fault) {
    std::string word;
    while (words >> word) {
        size_t equals = word.find('=');
        std::string key = word.substr(0, equals);
        std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (key == "call") {
            fault.call = text;
            continue;
        }
        int64_t value;
        if (!number(text, value))
            return "fault: " + word + ": not a number";
        if (key == "nth")
            fault.nth = uint64_t(value);
        else if (key == "from")
            fault.from = value != 0;
        else if (key == "code")
            fault.code = int(value);
        else if (key == "sticky")
            fault.sticky = value != 0;
        else if (key == "sleep_us")
            fault.sleep_us = uint64_t(value);
        else if (key == "seize")
            fault.seize_bytes = value;
        else if (key == "device")
            fault.device = uint64_t(value);
        else if (key == "on")
            fault.on = value;
        else if (key == "dies")
            fault.dies = value != 0;
        else if (key == "hangs")
            fault.hangs = value != 0;
        else
            return "fault: unknown key " + key;
    }
    return fault.call.empty() ? "fault: no call is named" : "";
}

std::string apply(Config &config, std::vector<Fault> &faults, const std::string &lines) {
    const std::map<std::string, uint64_t *> keys = {
        {"devices", &config.devices},
        {"vram", &config.vram_bytes},
        {"context_bytes", &config.context_bytes},
        {"seed", &config.seed},
        {"outstanding", &config.outstanding},
        {"poll_operations", &config.poll_operations},
        {"pageable", &config.pageable},
        {"declared", &config.declared},
        {"driver_version", &config.driver_version},
        {"compute", &config.compute},
        {"races", &config.races},
        {"trace", &config.trace},
        {"broken_virtual", &config.broken_virtual},
        {"recovers", &config.recovers},
        {"call_ns", &config.call_ns},
        {"launch_ns", &config.launch_ns},
        {"thread_ns", &config.thread_ns},
        {"copy_ns_per_mib", &config.copy_ns_per_mib},
    };
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string key, text;
        if (!(words >> key))
            continue;
        if (key == "fault") {
            Fault fault;
            if (std::string wrong = parse_fault(words, fault); !wrong.empty())
                return wrong;
            faults.push_back(fault);
            continue;
        }
        if (key == "nofaults") {
            faults.clear();
            continue;
        }
        auto found = keys.find(key);
        int64_t value;
        if (found == keys.end())
            return "unknown setting " + key;
        if (!(words >> text) || !number(text, value))
            return key + ": not a number: " + text;
        *found->second = uint64_t(value);
    }
    return "";
}

} // namespace cudasim
