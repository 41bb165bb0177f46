// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice Burns a share of every transfer.
contract FeeToken is ERC20 {
    uint256 public feeBasisPoints;

    constructor(uint256 feeBasisPoints_) ERC20("Fee", "FEE") {
        feeBasisPoints = feeBasisPoints_;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        uint256 fee = from == address(0) || to == address(0) ? 0 : value * feeBasisPoints / 10_000;
        if (fee != 0) super._update(from, address(0), fee);
        super._update(from, to, value - fee);
    }
}
