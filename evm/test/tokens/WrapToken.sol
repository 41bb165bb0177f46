// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice Accepts any unknown call and returns nothing, like wrapped native tokens.
contract WrapToken is ERC20 {
    event Deposit(address indexed from, uint256 value);

    constructor() ERC20("Wrap", "WRAP") {}

    fallback() external payable {
        _mint(msg.sender, msg.value);
        emit Deposit(msg.sender, msg.value);
    }

    receive() external payable {
        _mint(msg.sender, msg.value);
        emit Deposit(msg.sender, msg.value);
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
