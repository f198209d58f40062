// Runs sdcMicro's recordSwap on a file of whole numbers: household, hierarchy (2), carried, similar (2: for the first profile,
// and the second of them for the next), risk (2), sorted by household.
//
//     g++ -O2 -std=c++17 -I SDCMICRO/src/recordSwap recordswap.cpp -o recordswap
//     recordswap RATE K SEED LOG <in.csv >out.csv
#include <numeric>
#include "recordSwap.cpp"
#include <sstream>

int main(int argc, char **argv) {
  std::vector<std::vector<int>> data;
  std::string line, cell;
  std::getline(std::cin, line);
  std::string header = line;
  while (std::getline(std::cin, line)) {
    std::vector<int> row;
    std::stringstream cells(line);
    while (std::getline(cells, cell, ',')) row.push_back(std::stoi(cell));
    data.push_back(row);
  }
  int records = 0, households = 0;
  auto out = recordSwap(data, 0, {1, 2}, {{4, 5}, {5}}, std::stod(argv[1]), {}, 0, std::stoi(argv[2]), {6, 7}, {3}, records, households, argv[4], std::stoi(argv[3]));
  std::cout << header << "\n";
  for (auto &row : out) {
    for (size_t i = 0; i < row.size(); i++) std::cout << (i ? "," : "") << row[i];
    std::cout << "\n";
  }
}
